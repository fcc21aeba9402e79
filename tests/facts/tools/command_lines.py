"""Every tool: --version, --help, and errors that name the mistyped word, propose the one that was meant, and exit with 2.

usage: command_lines.py SOURCE_DIR VERSION TOOL...
"""
import glob
import os
import sys

import process
from environment import clean

source, version, *paths = sys.argv[1:]
tools = {os.path.basename(path): path for path in paths}


def run(tool, *words):
    return process.run([tools.get(tool, tool), *words], clean({"MRC_MRCD_SOCKET": ""}), code=None, input="")


def refused(tool, *words, says, code=2):
    ran = run(tool, *words)
    assert ran.returncode == code and not ran.stdout, (ran.args, ran.returncode, ran.stdout, ran.stderr)
    for text in says:
        assert text in ran.stderr, (ran.args, text, ran.stderr)


for name in tools:
    ran = run(name, "--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{name} {version}\n", ""), (name, ran)
    for option in ("--help", "-h"):
        ran = run(name, option)
        assert ran.returncode == 0 and "--version" in ran.stdout and not ran.stderr, (name, option, ran)
    refused(name, "--versoin", says=[f"{name}: '--versoin' is no option of {name}, did you mean '--version'?", f"{name} --help"])
    if "/tools/dev/" in tools[name]:  # not installed: no manual page
        continue
    (page,) = glob.glob(os.path.join(source, "tools", "man", name + ".[18]"))
    with open(page, encoding="utf-8") as text:
        assert "\\-\\-version" in text.read(), f"{page} has no --version"

# Scripts of the tree are not installed and have no manual page.
for script in ("tools/test", "tools/bench", "tools/demo", "tools/nccl-real", "sim/make_results.py"):
    path = os.path.join(source, script)
    ran = run(path, "--version")
    assert ran.returncode == 0 and ran.stdout.split()[-1:] == [version], (script, ran)
    assert run(path, "--help").returncode == 0, script

# A mistyped command is named at every level, with the command that was meant.
for tool, words, wrong, meant in (
        ("mrcctl", ["shwo"], "shwo", "show"), ("mrcctl", ["show", "devcies"], "devcies", "devices"),
        ("mrcctl", ["--json", "ev", "dney"], "dney", "deny"), ("mrcctl", ["shwo", "devices", "--json"], "shwo", "show"),
        ("mrclog", ["pritn", "file"], "pritn", "print"), ("mrclog", ["sumary", "file", "--plane", "2"], "sumary", "summary"),
        ("mrc-fabric", ["stauts"], "stauts", "status"), ("mrc-fabric", ["fault", "lnik", "h0:p1", "down"], "lnik", "link"),
        ("mrc-fabric", ["ecex", "h0", "--", "ls", "-l"], "ecex", "exec"), ("mrc-switch", ["shwo"], "shwo", "show"),
        ("mrc-sim", ["rnu", "x.yaml"], "rnu", "run"), ("mrc-udp-limit", ["sever"], "sever", "server"),
        ("mrc-socket-limit", ["clinet"], "clinet", "client"), ("mrc-xdp-limit", ["clinet"], "clinet", "client")):
    if tool in tools:
        refused(tool, *words, says=[f"'{wrong}' is no command of {tool}", f"did you mean '{meant}'?", "Commands: "])
for tool in ("mrcctl", "mrclog", "mrc-fabric", "mrc-switch", "mrc-sim", "mrc-socket-limit", "mrc-udp-limit", "mrc-xdp-limit", "mrc-rte-limit"):
    if tool in tools:
        refused(tool, says=[f"{tool}: a command is required: "])
        refused(tool, "qwertzuiop", says=[f"'qwertzuiop' is no command of {tool}\n", "Commands: "])  # near to none
refused("mrclog", "summary", "no/such.sqlog", says=["mrclog: no/such.sqlog: cannot be read: No such file or directory"])
refused("mrcctl", "ev", says=["mrcctl: ev requires a command: ", "deny"])
refused("mrcctl", "show", "devices", "--jsno", says=["'--jsno' is no option of mrcctl show devices, did you mean '--json'?"])
refused("mrc-perf", "localhost", "--durtion", "3", says=["did you mean '--duration'?"])
refused("mrc-perf", "localhost", "there", says=["'there' is one argument too many"])

# Zeros in front of a number are none of its digits: 0100 is a hundred, and not the 64 of an octal number.
refused("mrc-udp-limit", "client", "--burst", "0100", says=["100"])
# Ways that exclude each other: the staging buffer is written again before the kernel has sent it.
refused("mrc-udp-limit", "client", "--staged", "--zerocopy", says=["--zerocopy", "--staged"])
refused("mrc-udp-limit", "server", "--place", "away", says=["scatter"])
# A time would have no effect: the receives do not wait.
refused("mrc-udp-limit", "server", "--busy-poll", "50", says=["50"])
if "mrc-perf" in tools:
    # A server with a device that does not exist refuses before a client comes.
    refused("mrc-perf", "-d", "nodev", code=1, says=["no device is named 'nodev'", "mrc0"])
    refused("mrc-perf", "-p", "018", "-d", "nodev", code=1, says=["nodev"])  # 18, which octal numbers cannot be
print(f"{len(tools)} tools")
