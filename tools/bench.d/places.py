"""Where a measurement runs: loopback, or network namespaces: one with a loopback of its own, or two that one veth pair per
plane joins."""
import array
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

PLANES = 4


class Place:
    """server and client are command prefixes; *_env are added to the environment of MRC programs."""

    name = ""
    server = []
    client = []
    server_env = {}
    client_env = {}
    addresses = []  # the server's, one per plane
    datapaths = {}  # name -> environment that chooses it, where others than the usual one can be had
    out_of_band = ""  # where TCP programs find the server

    def close(self):
        pass


class Loopback(Place):
    name = "loopback"

    def __init__(self):
        self.datapaths = {"memory": {"MRC_SAME_HOST": "memory"}}
        self.addresses = ["::1"] * PLANES
        self.out_of_band = "::1"


def ip(*args, check=True):
    return subprocess.run(["ip", *args], check=check, capture_output=True, text=True)


class Namespaces(Place):
    """Loses packets at the inputs of its namespaces; `interfaces` carry the traffic."""

    namespaces = ()
    interfaces = ()

    def close(self):
        for ns in self.namespaces:
            ip("netns", "del", ns, check=False)

    def lose(self, probability, protocol=""):
        """Drops this share of the packets (`protocol`: an expression of nft that chooses them) at each input, at random.
        Returns an error sentence, or None. Offloads of the sender are off, else a 'packet' here would be up to 64 KiB of a
        stream, or of datagrams, and the loss far too gentle."""
        self.lose_nothing()
        error = self.offload(False)
        for ns in self.namespaces:
            if error or not probability:
                continue
            share = f"numgen random mod 100000 < {round(probability * 100000)}"
            error = self.drop(ns, f"iifname {{ {', '.join(self.interfaces)} }} {protocol} {share}")
        return error

    def drop(self, ns, what):
        """Drops what the expression of nft chooses at the input of a namespace, until lose_nothing()."""
        rules = f"table inet mrcbench {{\n chain input {{\n  type filter hook input priority 0;\n  {what} drop\n }}\n}}\n"
        try:
            r = subprocess.run(["ip", "netns", "exec", ns, "nft", "-f", "-"], input=rules, capture_output=True, text=True)
        except FileNotFoundError:
            return "nft is not installed (apt-get install nftables)"
        return f"nft refuses: {r.stderr.strip()}" if r.returncode else None

    def lose_nothing(self):
        for ns in self.namespaces:
            subprocess.run(["ip", "netns", "exec", ns, "sh", "-c", "nft delete table inet mrcbench 2>/dev/null"], check=False)

    def offload(self, on):
        for ns in self.namespaces:
            # In a child: a process that has entered a network namespace stays there.
            r = subprocess.run(["ip", "netns", "exec", ns, sys.executable, os.path.abspath(__file__), str(int(on)), *self.interfaces],
                               capture_output=True, text=True)
            if r.returncode:
                return f"cannot switch segmentation offload: {r.stderr.strip()[-200:]}"
        return None


class OwnLoopback(Namespaces):
    """The loopback of namespace mrcbench-0. With losses its MTU is 9000, as that of Veth: 65536 makes any loss another one."""

    name = "loopback"
    namespaces, interfaces = ("mrcbench-0",), ("lo",)

    def __init__(self):
        self.close()
        ip("netns", "add", self.namespaces[0])
        ip("-n", self.namespaces[0], "link", "set", "lo", "up")

    def lose(self, probability, protocol=""):
        ip("-n", self.namespaces[0], "link", "set", "lo", "mtu", "9000")
        return super().lose(probability, protocol)


class Veth(Namespaces):
    """Namespaces mrcbench-0 (server) and mrcbench-1 (client); plane p is fd00:6d72:p::1 and ::2, 10.114.p.10 and .11 where
    a program knows IPv4 alone; MTU 9000."""

    name = "veth"
    namespaces = S, C = "mrcbench-0", "mrcbench-1"
    interfaces = tuple(f"p{p}" for p in range(1, PLANES + 1))

    def __init__(self):
        self.close()
        self.files = tempfile.TemporaryDirectory(prefix="mrc-bench-")
        for ns in (self.S, self.C):
            ip("netns", "add", ns)
            ip("-n", ns, "link", "set", "lo", "up")
            self.sysctl(ns, "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
        self.bare = []
        for p in range(1, PLANES + 1):
            self.cable(f"p{p}")
            for ns, host in ((self.S, 1), (self.C, 2)):
                ip("-n", ns, "address", "add", f"fd00:6d72:{p}::{host}/64", "dev", f"p{p}", "nodad")
                ip("-n", ns, "address", "add", f"10.114.{p}.{9 + host}/24", "dev", f"p{p}")
                ip("-n", ns, "link", "set", f"p{p}", "up")
        self.wait_for_links()
        ports = ";".join(f"net_af_packet{p},iface=p{p},framesz=9216,blocksz=36864,framecnt=1024" for p in range(1, PLANES + 1))
        self.datapaths = {"raw": {"MRC_DATAPATH": "raw"}, "raw packet": {"MRC_DATAPATH": "raw", "MRC_RAW_IO": "packet"},
                          "dpdk": {"MRC_DATAPATH": "dpdk", "MRC_DPDK_PORTS": ports, "MRC_DPDK_MTU": "9000"}}
        self.addresses = [f"fd00:6d72:{p}::1" for p in range(1, PLANES + 1)]
        self.out_of_band = self.addresses[0]
        self.server = ["ip", "netns", "exec", self.S]
        self.client = ["ip", "netns", "exec", self.C]
        self.server_env = {"MRC_CONFIG": self.config("server", 1)}
        self.client_env = {"MRC_CONFIG": self.config("client", 2)}

    def cable(self, name):
        ip("link", "add", name, "mtu", "9000", "netns", self.S, "type", "veth", "peer", "name", name, "mtu", "9000", "netns", self.C)

    def bare_interfaces(self):
        """As many further cables as there are planes, for programs that need an interface for themselves."""
        if not self.bare:
            self.bare = [f"q{p}" for p in range(1, PLANES + 1)]
            for name in self.bare:
                self.cable(name)
                for ns in self.namespaces:
                    ip("-n", ns, "link", "set", name, "up")
        return self.bare

    def memif(self, name):
        """DPDK's device arguments of the server's and of the client's ports, one per plane, by shared memory."""
        return [[f"net_memif{p},role={role},id={p},socket={self.files.name}/{name}{p},socket-abstract=no,bsize=9216"
                 for p in range(1, PLANES + 1)] for role in ("server", "client")]

    @staticmethod
    def bare_eal(name):
        processors = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        return f"--no-huge --no-shconf --no-pci --no-telemetry -m 512 --log-level=4 --lcores 0@({processors}) --file-prefix {name}"

    def wait_for_links(self):
        """The kernel declares links up a moment later; until then NCCL does not use them."""
        states = [f"/sys/class/net/{name}/operstate" for name in self.interfaces]
        until = time.monotonic() + 5
        for ns in self.namespaces:
            while time.monotonic() < until:
                text = subprocess.run(["ip", "netns", "exec", ns, "cat", *states], capture_output=True, text=True, check=True).stdout
                if set(text.split()) == {"up"}:
                    break
                time.sleep(0.02)

    def sysctl(self, ns, *settings):
        subprocess.run(["ip", "netns", "exec", ns, "sysctl", "-qw", *settings], check=False, capture_output=True)

    def config(self, name, host, planes=PLANES):
        """A device of the first planes, its addresses in this namespace; the peer's follow from the template."""
        path = os.path.join(self.files.name, name + ".yaml")
        with open(path, "w") as f:
            f.write("devices:\n  - name: mrc0\n    planes:\n")
            for p in range(1, planes + 1):
                f.write(f"      - {{address: 'fd00:6d72:{p}::{host}'}}\n")
            f.write("    peers:\n      template: 'fd00:6d72:{plane}::{host}'\n")
        return path

    def tcp_loss(self, probability):
        """Of one TCP stream. Returns an error sentence, or None."""
        return self.lose(probability, "meta l4proto tcp")

    def no_tcp_loss(self):
        self.lose_nothing()
        self.offload(True)


ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_GSTRINGS, ETHTOOL_GSSET_INFO, ETHTOOL_SFEATURES = 0x1F, 0x24, 0x2C, 0x1B, 0x37, 0x3B
ETH_SS_FEATURES, NAME = 4, 32
SIOCETHTOOL = 0x8946


def set_offload(interface, on):
    """Segmentation of TCP and of UDP datagrams by the interface, and merging at its input."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:

        def ethtool(value):
            request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
            fcntl.ioctl(s.fileno(), SIOCETHTOOL, ctypes.create_string_buffer(request))
            return value

        for command in (ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO):
            ethtool(array.array("I", [command, on]))
        count = ethtool(array.array("I", [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0, 0]))[4]
        names = ethtool(array.array("I", [ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count] + [0] * (count * NAME // 4))).tobytes()[12:]
        bit = [names[i * NAME:(i + 1) * NAME].rstrip(b"\0") for i in range(count)].index(b"tx-udp-segmentation")
        blocks = [[0, 0] for _ in range((count + 31) // 32)]
        blocks[bit // 32] = [1 << bit % 32, on << bit % 32]
        ethtool(array.array("I", [ETHTOOL_SFEATURES, len(blocks)] + [word for block in blocks for word in block]))


if __name__ == "__main__":
    for name in sys.argv[2:]:
        set_offload(name, int(sys.argv[1]))
