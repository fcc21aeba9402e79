"""The conformance mode finds a defect: the case fails with exit code 1, and passes once the defect is gone.

usage: finds.py NCCL_NET_BENCH PLUGIN DEFECT CASE
"""
import json
import os
import sys

from limits import limit
from process import run


def verdict(bench, plugin, case, limits, environment):
    command = [bench, plugin, "--conformance", "--only", case, *limits, "--json", "-"]
    ran = run(command, {**os.environ, **environment}, code=None, limit_s=limit(120))
    print(ran.stderr)
    report = json.loads(ran.stdout)
    assert ran.returncode == report["exit_code"], (ran.returncode, report)
    (only,) = report["cases"]
    return ran.returncode, only


def main():
    bench, plugin, defect, case = sys.argv[1:]
    code, good = verdict(bench, plugin, case, ["--timeout", f"{limit(60):g}", "--death-limit", f"{limit(20):g}"], {})
    assert (code, good["verdict"]) == (0, "ok"), good
    # Short limits: what a defect breaks is mostly that something never ends.
    code, bad = verdict(bench, plugin, case, ["--timeout", "15", "--death-limit", "5"], {"MRC_NET_DEFECT": defect})
    assert (code, bad["verdict"]) == (1, "FAILED"), bad
    assert bad["detail"], bad


main()
