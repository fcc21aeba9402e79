"""The command of nccl-plugin/README.md in which a plane fails during a collective: every sum is correct, and no request fails.

usage: plane.py NCCL_NET_BENCH PLUGIN MRC_INFO README
"""
import json
import re
import sys
import tempfile

from environment import clean
from limits import limit
from process import Process, run
from wait import until

RANKS = 4


def command_of(readme):
    """The line of the README, run as it stands there."""
    with open(readme, encoding="utf-8") as text:
        (line,) = re.findall(r"^(MRC_FAULT=\S*blackhole\S* NCCL_DEBUG=INFO \$bench \$plugin .*)$", text.read(), re.M)
    return line


def droppers(mrc_info, environment):
    """The processes whose fault has dropped packets so far."""
    asked = run([mrc_info, "--json"], environment)
    return {process["pid"] for process in json.loads(asked.stdout)["processes"] for counter in process["counters"]
            if counter["name"] == "driver.fault_dropped" and counter["value"] > 0}


def main():
    bench, plugin, mrc_info, readme = sys.argv[1:]
    line = command_of(readme)
    assert f"--ranks {RANKS} " in line, line
    with tempfile.TemporaryDirectory(prefix="mrc-test-") as folder:
        environment = clean({"MRC_PUBLISH": folder})
        dropped = set()

        def all_have_dropped():
            dropped.update(droppers(mrc_info, environment))
            return len(dropped) >= RANKS

        with Process(["sh", "-c", f"{line} --timeout {limit(200):g} --json -"],
                     {**environment, "bench": bench, "plugin": plugin}) as running:
            until(lambda: running.ended() or all_have_dropped(), "a rank does not meet the fault", limit(250), every_s=0.1)
            code = running.wait(limit(250))
    print(line, running, sep="\n")
    assert code == 0, code
    assert " WARN " not in running.err, "the plugin has complained"
    (measured,) = json.loads(running.out)["runs"]
    (result,) = measured["results"]
    assert measured["test"] == "all-reduce" and result["wrong"] == 0 and result["checked"], result
    assert len(dropped) == RANKS, f"only {len(dropped)} of {RANKS} ranks have met the fault"


main()
