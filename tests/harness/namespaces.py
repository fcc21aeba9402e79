"""Network namespaces made by the test that needs them and gone with it, and two hosts in them joined by a veth pair per plane.

They need root and the `ip` program; where one is missing or the kernel refuses namespaces, the test is skipped with the reason.
"""
import json

from process import run
from skip import need, need_program, need_root
from wait import until


def ip(*args):
    """What ip prints. That it fails is no reason for a skip: the machine has namespaces, so the words or their order are wrong."""
    return run(["ip", *args]).stdout


def need_namespaces():
    """A kernel may refuse them to root, too, as in a container. Besides a network, `ip netns` mounts."""
    need_root()
    need_program("ip", "iproute2")
    done = run(["unshare", "--net", "--mount", "true"], code=None)
    need(done.returncode == 0, f"this kernel refuses new namespaces: {done.stderr.strip()}")


def inside(name):
    """The words before a command that is to run in that namespace."""
    return ["ip", "netns", "exec", name]


class Namespaces:
    """Context of namespaces called `names`: make() makes what joins them, and at the end they go."""

    def __init__(self, names):
        need_namespaces()
        self.names = names

    def __enter__(self):
        try:
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

    def make(self):
        """Nothing but a loopback interface in each."""

    def await_links(self):
        """The kernel declares a link up to a second after `up`, and until then nothing passes."""
        def waiting():
            links = [(name, link) for name in self.names for link in json.loads(ip("-n", name, "-json", "link"))]
            return [f"{link['ifname']} in {name}" for name, link in links
                    if link["ifname"] != "lo" and "UP" in link["flags"] and link["operstate"] != "UP"]
        until(lambda: not waiting(), lambda: f"no link: {', '.join(waiting())}")

    def remove(self):
        for name in self.names:
            run(["ip", "netns", "del", name], code=None)


class Planes(Namespaces):
    """`addresses[plane]` is the pair of addresses (first namespace, second) with prefix length, as ip takes them."""

    def __init__(self, addresses):
        super().__init__(["mrc-side-a", "mrc-side-b"])
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
        return inside(self.names[side])

    def address(self, plane, side):
        return self.addresses[plane - 1][side].split("/")[0]
