"""A job's preflight (nccl-net-bench --hosts) over a lab of 16 hosts: all well, and with a slow host and a gray link, which it has to
name. `mrc-fabric run FABRIC -- python3 job_preflight.py ...` prints one JSON object: the seconds of each round, and the faults that it
did not name.

usage: job_preflight.py MRC_FABRIC NCCL_NET_BENCH PLUGIN MRCCTL [--rounds N]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from fabric import Fabric, environment
from sixteen import FAULTS, command, unnamed

LIMIT_S = 300  # of one preflight


def preflight(fabric, programs):
    """The report. What the table says is for a person who waits for it."""
    with tempfile.TemporaryDirectory(prefix="mrc-preflight-") as folder:
        path = os.path.join(folder, "report.json")
        subprocess.run(command(*programs, fabric.inside, path), env=environment(), stdout=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        with open(path, encoding="utf-8") as text:
            return json.load(text)


def measure(fabric, programs, rounds):
    result = {"well": {"seconds": [], "findings": []}, "faulty": {"seconds": [], "unnamed": []}}
    for turn in range(rounds):
        well = preflight(fabric, programs)
        for words in FAULTS:
            fabric.fault(*words)
        faulty = preflight(fabric, programs)
        fabric.fault("clear")
        result["well"]["seconds"].append(well["seconds"])
        result["well"]["findings"].append([finding["text"] for finding in well["findings"]])
        result["faulty"]["seconds"].append(faulty["seconds"])
        result["faulty"]["unnamed"].append(unnamed(faulty))
        print(f"  preflight, round {turn + 1} of {rounds}: {well['seconds']:.1f} s, with faults {faulty['seconds']:.1f} s", file=sys.stderr, flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mrc_fabric")
    parser.add_argument("programs", nargs=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(measure(Fabric(options.mrc_fabric), options.programs, options.rounds)))


if __name__ == "__main__":
    main()
