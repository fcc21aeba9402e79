"""Exit codes, messages and reports of nccl-net-bench.

usage: usage.py NCCL_NET_BENCH TCP_PLUGIN DEFECTIVE_PLUGIN
"""
import json
import os
import pathlib
import re
import sys
import tempfile

import process
from environment import clean
from limits import limit

bench, tcp, defective = sys.argv[1:]
header = pathlib.Path(__file__).parents[3] / "nccl-plugin/include/net_abi.h"
newest = int(re.search(r"define MRC_NET_VERSIONS.*X\((\d+)\)", header.read_text())[1])


def run(*arguments, **settings):
    return process.run([bench, *arguments], clean(settings, ["NCCL_DEBUG"]), code=None, limit_s=limit(120))


def expect(code, ran, *texts):
    everything = ran.stdout + ran.stderr
    assert ran.returncode == code, (ran.args, ran.returncode, everything)
    for text in texts:
        assert text in everything, (ran.args, text, everything)


expect(0, run("--help"), "Examples:", "busbw", "Exit code")
expect(0, run("--list"), "32-in-flight", "peer-killed-in-setup")
expect(2, run(), "which plugin?")
expect(2, run(tcp, "-D", "120"), "shorter than --timeout")
expect(2, run("no-such-plugin"), "libnccl-net-no-such-plugin.so")
expect(2, run(tcp, "--abi", "5"), "no ABI version")
expect(2, run(tcp, "-s", "12Q"), "is no size")
expect(2, run(tcp, "-s", "0.5"), "is no size")
expect(2, run(tcp, "-s", "1e30"), "is no size")
expect(2, run(tcp, "-s", "3"), "all-reduce of 2 ranks cannot divide 3 bytes", "at least 8")
expect(2, run(tcp, "-s", "1K,5", "-t", "p2p,all-to-all", "-r", "6"), "all-to-all of 6 ranks cannot divide 5 bytes")
expect(2, run(tcp, "--min-ratio", "1.2"), "--min-ratio requires --against")
expect(2, run(tcp, "--rounds", "3"), "--rounds requires --against")
expect(2, run(tcp, "--only", "sizes"), "--only requires --conformance")
expect(2, run(tcp, "-s", "1K", "--json", "/nonexistent/x.json"), "cannot write /nonexistent/x.json")
# AddressSanitizer must be the first library.
late = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
for preload in ("/nonexistent.so", "libm.so.6:no-such-library.so", f"libm.so.6 {__file__}"):
    expect(2, run(tcp, "-s", "1K", "--preload", preload, **late), preload.replace(":", " ").split()[-1], "cannot be loaded")
expect(2, run(tcp, "--against", tcp, "-s", "1K", "-n", "1", "--against-preload", "/nonexistent.so"), "cannot be loaded")
expect(2, run(tcp, "--conformance", "--only", "sizes", "--preload", "/nonexistent.so"), "cannot be loaded")
expect(0, run(tcp, "-s", "1K", "-n", "1", "--preload", "libm.so.6", **late))
expect(2, run(tcp, "-t", "gather"), "is no test", "all-to-all")
expect(2, run(tcp, "--conformance", "--only", "nothing"), "is no conformance case")
expect(2, run(tcp, "-r", "1"), "at least 2 ranks")
expect(2, run(tcp, "-d", "7", "-s", "1K"), "device 7 of 1")
expect(2, run(defective, "--abi", "12", "-s", "1K"), "ncclNetPlugin_v12")
for defect in "no-flush", "late-no-flush":
    expect(1, run(defective, "-s", "1K", MRC_NET_DEFECT=defect), "has no iflush after init")
expect(1, run(defective, "-s", "1K", MRC_NET_DEFECT="no-init"), "has no init before init")
expect(0, run(defective, "-s", "1K", "-n", "1", MRC_NET_DEFECT="late"))

# A plugin's log is filtered as NCCL filters it; messages that NCCL would drop are shown with the failure that they explain.
DROPPED, SHOWN = "NCCL drops this by default", "NET WARN there is no card"
for debug, subsystems, shown in ((None, None, False), ("WARN", None, False), ("WARN", "NET", True), ("info", "init,net", True),
                                 ("WARN", "^INIT", True), ("WARN", "^NET", False), ("VERSION", "NET", False), ("nonsense", "ALL", False)):
    variables = {name: value for name, value in (("NCCL_DEBUG", debug), ("NCCL_DEBUG_SUBSYS", subsystems)) if value is not None}
    ran = run(defective, "-s", "1K", MRC_NET_DEFECT="warns", **variables)
    expect(1, ran, "init returned ncclSystemError", "the plugin's log: there is no card", DROPPED)
    assert (SHOWN in ran.stderr) == shown, (variables, ran.stderr)
expect(1, run(defective, "-t", "send-recv", "-s", "1M", "-n", "1", MRC_NET_DEFECT="corrupts"), "wrong data")
expect(1, run(tcp, "--against", tcp, "--rounds", "1", "-s", "64K", "-n", "2", "--min-ratio", "1000"), "BELOW --min-ratio")

# Each side of a comparison has its own environment.
ran = run(defective, "--against", defective, "--against-env", "MRC_NET_DEFECT=no-flush", "--rounds", "1", "-s", "1K", "-n", "1")
expect(1, ran, "# all-reduce: plugin defective", "has no iflush")

ran = run(tcp, "-t", "all-gather", "-r", "3", "-s", "3K", "-n", "2", "--json", "-")
expect(0, ran)
(measured,) = json.loads(ran.stdout)["runs"]
(line,) = measured["results"]
assert measured["abi"] == newest and measured["test"] == "all-gather" and line["bytes"] == 3072 and line["wrong"] == 0, measured
assert abs(line["busbw_GBps"] - line["algbw_GBps"] * 2 / 3) < 1e-9, line

# For a time: whole batches, one at least.
for seconds, most in (("0.000001", 3), ("0.5", 1000000)):
    ran = run(tcp, "-s", "3K", "-n", "3", "-D", seconds, "--json", "-")
    expect(0, ran)
    ((line,),) = [one["results"] for one in json.loads(ran.stdout)["runs"]]
    assert line["iterations"] % 3 == 0 and line["iterations"] <= most and line["wrong"] == 0, line
assert line["iterations"] > 3, line

# A preflight: ranks on "hosts", over standard input and output, with a greeting among the messages.
HERE = ["--hosts", "red,green,blue", "-s", "96K", "-n", "1", "--env", "NCCL_SOCKET_IFNAME=lo", "--json", "-"]
with tempfile.TemporaryDirectory() as folder:
    at = pathlib.Path(folder, "at")
    at.write_text("""#!/bin/sh
[ "$1" != grey ] || exit 255
echo "Welcome to $1"
shift
exec "$@"
""")
    at.chmod(0o755)
    ran = run(tcp, *HERE, "--launch", f"{at} {{host}}")
    unreachable = run(tcp, "--hosts", "red,grey", "-s", "96K", "-n", "1", "--launch", f"{at} {{host}}")
expect(1, unreachable, "unreachable host: grey exited with 255 while starting", "not fit for a job")
assert "unreachable host: red" not in unreachable.stdout, unreachable.stdout
assert "Welcome to green" in ran.stderr, ran.stderr
whole = json.loads(ran.stdout)
# Hosts that share two processors may differ by more than hosts of a job should.
kinds = {f["kind"] for f in whole["findings"]}
assert kinds <= {"slow host", "slow pair", "slow under load"}, whole
if not kinds:
    expect(0, ran, "all hosts and paths are well")
elif kinds == {"slow under load"}:
    expect(3, ran, "nothing is bad, hosts differ")
else:
    expect(1, ran, "not fit for a job")
assert [(p["a"], p["b"]) for p in sorted(whole["pairs"], key=lambda p: (p["a"], p["b"]))] == [(0, 1), (0, 2), (1, 2)], whole
assert all(p["a_to_b_Gbps"] > 0 and p["b_to_a_Gbps"] > 0 and p["rtt_us"] > 0 and abs(p["clock_ahead_us"]) < 1e6 for p in whole["pairs"]), whole
assert [h["host"] for h in whole["hosts"]] == ["red", "green", "blue"] and whole["exit_code"] == ran.returncode, whole
for host in whole["hosts"]:
    compared = host["facts"]["compare"]
    assert {"kernel", "processors", "plugin", "plugin ABI", "plugin build", "nccl-net-bench version"} <= set(compared), compared
assert whole["runs"][0]["wrong"] == 0, whole
expect(2, run(tcp, "--hosts", "red"), "--hosts needs 2")
expect(2, run(tcp, "--hosts", "red,red", "--launch", "ssh {host}"), "'red' is empty or there twice")
expect(2, run(tcp, "--hosts", "red,blue", "--launch", "ssh red"), "--launch with {host}")
expect(2, run(tcp, "--hosts", "red,blue", "--launch", "ssh {host}", "--conformance"), "--hosts goes with")
expect(2, run(tcp, "--program", "/bin/true"), "--program requires --hosts")
