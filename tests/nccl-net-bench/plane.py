"""The command of nccl-plugin/README.md in which a plane fails during a collective: every sum is correct, and no request fails.

usage: plane.py NCCL_NET_BENCH PLUGIN MRC_INFO README
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

RANKS = 4


def command_of(readme):
    """The line of the README, run as it stands there."""
    with open(readme, encoding="utf-8") as text:
        (line,) = re.findall(r"^(MRC_FAULT=\S*blackhole\S* \$bench \$plugin .*)$", text.read(), re.M)
    return line


def droppers(mrc_info, environment):
    """The processes whose fault has dropped packets so far."""
    asked = subprocess.run([mrc_info, "--json"], env=environment, capture_output=True, text=True, timeout=60, check=True)
    return {process["pid"] for process in json.loads(asked.stdout)["processes"] for counter in process["counters"]
            if counter["name"] == "driver.fault_dropped" and counter["value"] > 0}


def main():
    bench, plugin, mrc_info, readme = sys.argv[1:]
    line = command_of(readme)
    assert f"--ranks {RANKS} " in line, line
    with tempfile.TemporaryDirectory(prefix="mrc-test-") as folder:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
        environment["MRC_PUBLISH"] = folder
        running = subprocess.Popen(["sh", "-c", line + " --timeout 200 --json -"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**environment, "bench": bench, "plugin": plugin, "NCCL_DEBUG": "WARN"})
        dropped = set()
        while running.poll() is None and len(dropped) < RANKS:
            dropped |= droppers(mrc_info, environment)
            time.sleep(0.1)
        out, err = running.communicate(timeout=250)
    print(line, out, err, sep="\n")
    assert running.returncode == 0, running.returncode
    assert " WARN " not in err, "the plugin has complained"
    (run,) = json.loads(out)["runs"]
    (result,) = run["results"]
    assert run["test"] == "all-reduce" and result["wrong"] == 0 and result["checked"], result
    assert len(dropped) == RANKS, f"only {len(dropped)} of {RANKS} ranks have met the fault"


main()
