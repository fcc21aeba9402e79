"""A lab of mrc-fabric for one test, with its state in the test's folder, and checked to be gone.

Needs root and iproute2; where they are missing the test is skipped with the reason.
"""
import functools
import json
import os
import re
import signal
import sys

import built
import files
import process
import wait
from environment import clean
from limits import limit
from process import Process, ended
from skip import need_program, need_root

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "e2elab"
LIMIT_S = limit(150)  # of what makes or removes a lab, beside other tests

TWO = """name: two
planes: 2
t0: 2
t1: 2
nics_per_t0: 2
nic_link: {rate: 10G, delay: 500ns}
"""

until = functools.partial(wait.until, limit_s=LIMIT_S)


def need_lab():
    need_root()
    for program in ("ip", "tc"):
        need_program(program, "iproute2")


def environment(extra=None):
    return clean({"MRC_LAB_DIR": files.at("state"), **(extra or {})})


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


def run(words, code=0, env=None):
    """A program, which must end with that exit status; returns what subprocess.run() does."""
    return process.run(words, environment(env), code, LIMIT_S)


def tool(*words, code=0, env=None):
    """mrc-fabric."""
    return run([built.path("MRC_FABRIC"), *words], code, env)


def starts(*words, env=None, **more):
    """mrc-fabric as a process beside the test."""
    return Process([built.path("MRC_FABRIC"), *words], environment(env), **more)


def namespaces(name):
    """Network namespaces of a lab of that name."""
    return [n.split()[0] for n in run(["ip", "netns", "list"]).stdout.splitlines() if n.startswith(name + "-")]


def nothing_left(name):
    assert namespaces(name) == [], namespaces(name)
    assert not os.path.exists(files.at("state", name)), os.listdir(files.at("state"))
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
    def __init__(self, text=TWO, name=NAME):
        need_lab()
        self.name = name
        self.fabric = files.write(self.name + ".yaml", text)

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
        return [built.path("MRC_FABRIC"), "exec", "--lab", self.name, node, "--"]

    def run(self, node, *words):
        return run([*self.inside(node), *words]).stdout

    def starts(self, node, *words, env=None):
        """A process there, beside the test."""
        return Process([*self.inside(node), *words], environment(env))

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
