"""A lab of mrc-fabric for one test: named after the process, with its state in the test's folder, and checked to be gone.

Needs root and iproute2; where they are missing the test is skipped with the reason.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from limits import SCALE

HERE = os.path.dirname(os.path.abspath(__file__))

MRC_FABRIC = "mrc-fabric"  # set by prepare()
MRC_PERF = MRC_SWITCH = ""  # the same; empty: not built
FOLDER = "."
LIMIT_S = 150 * SCALE

TWO = """name: two
planes: 2
t0: 2
t1: 2
nics_per_t0: 2
nic_link: {rate: 10G, delay: 500ns}
"""


def prepare(folder, built):
    global FOLDER, MRC_FABRIC, MRC_PERF, MRC_SWITCH
    FOLDER, MRC_FABRIC = folder, built["MRC_FABRIC"]
    MRC_PERF, MRC_SWITCH = built.get("MRC_PERF", ""), built.get("MRC_SWITCH", "")


class Skipped(Exception):
    """The machine lacks a requirement of a test; the text names it. tests/harness/run_one.py prints it."""


def need(condition, why):
    if not condition:
        raise Skipped(why)


def need_lab():
    need(os.geteuid() == 0, "network namespaces need root")
    need(shutil.which("ip") and shutil.which("tc"), "the programs ip and tc are missing (apt-get install iproute2)")


def environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
    env["MRC_LAB_DIR"] = os.path.join(FOLDER, "state")
    env.update(extra or {})
    return env


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill_all(pids):
    """At once: they are stopped first, or a guardian would have time to clean up after those that went before it. A signal is
    only the order: what a process holds is free when it has ended."""
    for order in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, order)
            except ProcessLookupError:  # a child of another of them, which has taken it along
                pass
    until(lambda: all(map(ended, pids)), "a killed process does not end")


def tool(*words, code=0, env=None, **more):
    """Runs mrc-fabric, which must end with that exit status; returns what it printed."""
    done = subprocess.run([MRC_FABRIC, *map(str, words)], env=environment(env), capture_output=True, text=True,
                          timeout=LIMIT_S, check=False, **more)
    assert code is None or done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run(words, code=0):
    """Any program, which must end with that exit status; returns what it printed."""
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def namespaces(name):
    """Network namespaces of a lab of that name."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return [n.split()[0] for n in listed.stdout.splitlines() if n.startswith(name + "-")]


def nothing_left(name):
    assert namespaces(name) == [], namespaces(name)
    folder = os.path.join(FOLDER, "state")
    assert not os.path.exists(os.path.join(folder, name)), os.listdir(folder)
    ours = re.compile(re.escape(name) + "-")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                line = words.read().decode(errors="replace")
        except OSError:
            continue
        assert not ours.search(line), f"process {pid} is left: {line}"


class Lab:
    def __init__(self, text=TWO, name=None):
        need_lab()
        self.name = name or f"e2e{os.getpid()}"
        self.fabric = write(self.name + ".yaml", text)

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self("down", code=None)
        nothing_left(self.name)

    def up(self, *more, **options):
        return json.loads(tool("up", self.fabric, "--lab", self.name, "--json", *more, **options).stdout)

    def __call__(self, command, *words, **options):
        return tool(command, "--lab", self.name, *words, **options)

    def json(self, command, *words, **options):
        return json.loads(self(command, "--json", *words, **options).stdout)

    def inside(self, node):
        """The words before a command that is to run there."""
        return [MRC_FABRIC, "exec", "--lab", self.name, node, "--"]

    def run(self, node, *words):
        return run([*self.inside(node), *words])

    def software_checksums(self):
        """Every port sends with checksums that are computed, not left to the interface, which fills in none here."""
        ports = {}
        for link in self.json("status")["links"]:
            for port in (link["lower"], link["upper"]):
                node, interface = port.split(":")
                ports.setdefault(node, []).append(interface)
        for node, interfaces in ports.items():
            self.run(node, sys.executable, "-B", os.path.join(HERE, "udp.py"), "checksums", "off", *interfaces)

    def sent(self):
        """Packets that each port has sent, by NODE:PORT."""
        ports = {}
        for link in self.json("status")["links"]:
            ports[link["lower"]] = link["up"]["tx_packets"]
            ports[link["upper"]] = link["down"]["tx_packets"]
        return ports
