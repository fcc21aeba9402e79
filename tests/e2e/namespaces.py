"""Two network namespaces joined by one veth pair per plane, made by the test that needs them and gone with it.

Needs root and the `ip` program; where one is missing or the kernel refuses, the test is skipped with the reason.
"""
import os
import re
import subprocess

from pair import Skipped


def ip(*args):
    """What ip prints; skips the test with its words when it fails: what it does here depends on the machine, not on us."""
    try:
        done = subprocess.run(["ip", *args], capture_output=True, text=True, timeout=20, check=False)
    except FileNotFoundError:
        raise Skipped("the program ip is missing (apt-get install iproute2)") from None
    if done.returncode != 0:
        raise Skipped(f"ip {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def remove_orphans():
    """Namespaces of tests that were killed: the process in their name is gone. Numbers of processes come again, and the
    names with them."""
    try:
        names = os.listdir("/run/netns")
    except FileNotFoundError:
        return
    for name in names:
        made_by = re.fullmatch(r"mrc-(?:e2e|srv6|link|dissect)-(\d+)(?:-\w+)?", name)
        if made_by and not os.path.exists(f"/proc/{made_by[1]}"):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20, check=False)


class Namespaces:
    """Context of namespaces called `names`: make() makes them and what joins them, and at the end they go."""

    def __init__(self, names):
        if os.geteuid() != 0:
            raise Skipped("network namespaces need root")
        self.names = names

    def __enter__(self):
        try:
            remove_orphans()
            for name in self.names:
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20, check=False)


class Planes(Namespaces):
    """`addresses[plane]` is the pair of addresses (first namespace, second) with prefix length, as ip takes them."""

    def __init__(self, addresses):
        super().__init__([f"mrc-e2e-{os.getpid()}-{side}" for side in "ab"])
        self.addresses = addresses

    def make(self):
        for plane in range(1, len(self.addresses) + 1):
            ip("link", "add", f"plane{plane}", "netns", self.names[0], "type", "veth", "peer", "name", f"plane{plane}",
               "netns", self.names[1])
        for side, name in enumerate(self.names):
            for plane, pair in enumerate(self.addresses, 1):
                at_once = ["nodad"] if ":" in pair[side] else []
                ip("-n", name, "address", "add", pair[side], "dev", f"plane{plane}", *at_once)
                ip("-n", name, "link", "set", f"plane{plane}", "mtu", "9000", "up")

    def inside(self, side):
        """The words before a command that is to run in that namespace."""
        return ["ip", "netns", "exec", self.names[side]]

    def address(self, plane, side):
        return self.addresses[plane - 1][side].split("/")[0]
