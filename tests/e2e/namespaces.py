"""Two network namespaces joined by one veth pair per plane, made by the test that needs them and gone with it.

Needs root and the `ip` program; where one is missing or the kernel refuses, the test is skipped and says why.
"""
import os
import subprocess

from pair import Skipped


def ip(*args):
    """Runs ip; skips the test with its words when it fails: what it does here depends on the machine, not on us."""
    try:
        done = subprocess.run(["ip", *args], capture_output=True, text=True, timeout=20, check=False)
    except FileNotFoundError:
        raise Skipped("the program ip is missing (apt-get install iproute2)") from None
    if done.returncode != 0:
        raise Skipped(f"ip {' '.join(args)}: {done.stderr.strip()}")


class Planes:
    """`addresses[plane]` is the pair of addresses (first namespace, second) with prefix length, as ip takes them."""

    def __init__(self, addresses):
        if os.geteuid() != 0:
            raise Skipped("network namespaces need root")
        self.names = [f"mrc-e2e-{os.getpid()}-{side}" for side in "ab"]
        self.addresses = addresses

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for plane in range(1, len(self.addresses) + 1):
            ip("link", "add", f"plane{plane}", "netns", self.names[0], "type", "veth", "peer", "name", f"plane{plane}",
               "netns", self.names[1])
        for side, name in enumerate(self.names):
            for plane, pair in enumerate(self.addresses, 1):
                at_once = ["nodad"] if ":" in pair[side] else []
                ip("-n", name, "address", "add", pair[side], "dev", f"plane{plane}", *at_once)
                ip("-n", name, "link", "set", f"plane{plane}", "mtu", "9000", "up")

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=20, check=False)

    def inside(self, side):
        """The words before a command that is to run in that namespace."""
        return ["ip", "netns", "exec", self.names[side]]

    def address(self, plane, side):
        return self.addresses[plane - 1][side].split("/")[0]
