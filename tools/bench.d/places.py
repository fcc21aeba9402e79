"""Where a measurement runs: loopback, or two network namespaces joined by one veth pair per plane."""
import array
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile

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


class Veth(Place):
    """Namespaces mrcbench-s and mrcbench-c; plane p is fd00:6d72:p::1 (server) and ::2 (client), MTU 9000."""

    name = "veth"
    S, C = "mrcbench-s", "mrcbench-c"

    def __init__(self):
        self.close()
        self.files = tempfile.TemporaryDirectory(prefix="mrc-bench-")
        for ns in (self.S, self.C):
            ip("netns", "add", ns)
            ip("-n", ns, "link", "set", "lo", "up")
            self.sysctl(ns, "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
        for p in range(1, PLANES + 1):
            ip("link", "add", f"p{p}", "mtu", "9000", "netns", self.S, "type", "veth",
               "peer", "name", f"p{p}", "mtu", "9000", "netns", self.C)
            for ns, host in ((self.S, 1), (self.C, 2)):
                ip("-n", ns, "address", "add", f"fd00:6d72:{p}::{host}/64", "dev", f"p{p}", "nodad")
                ip("-n", ns, "link", "set", f"p{p}", "up")
        ports = ";".join(f"net_af_packet{p},iface=p{p},framesz=9216,blocksz=36864,framecnt=1024" for p in range(1, PLANES + 1))
        self.datapaths = {"raw": {"MRC_DATAPATH": "raw"}, "raw packet": {"MRC_DATAPATH": "raw", "MRC_RAW_IO": "packet"},
                          "dpdk": {"MRC_DATAPATH": "dpdk", "MRC_DPDK_PORTS": ports, "MRC_DPDK_MTU": "9000"}}
        self.addresses = [f"fd00:6d72:{p}::1" for p in range(1, PLANES + 1)]
        self.out_of_band = self.addresses[0]
        self.server = ["ip", "netns", "exec", self.S]
        self.client = ["ip", "netns", "exec", self.C]
        self.server_env = {"MRC_CONFIG": self.config("server", 1)}
        self.client_env = {"MRC_CONFIG": self.config("client", 2)}

    def sysctl(self, ns, *settings):
        subprocess.run(["ip", "netns", "exec", ns, "sysctl", "-qw", *settings], check=False, capture_output=True)

    def config(self, name, host):
        """A device of four planes, its addresses in this namespace; the peer's follow from the template."""
        path = os.path.join(self.files.name, name + ".yaml")
        with open(path, "w") as f:
            f.write("devices:\n  - name: mrc0\n    planes:\n")
            for p in range(1, PLANES + 1):
                f.write(f"      - {{address: 'fd00:6d72:{p}::{host}'}}\n")
            f.write("    peers:\n      template: 'fd00:6d72:{plane}::{host}'\n")
        return path

    def close(self):
        for ns in (self.S, self.C):
            ip("netns", "del", ns, check=False)

    def tcp_loss(self, probability):
        """Drops TCP packets at the server's input. Returns an error sentence, or None. Segmentation offload of the
        sender is off, else a 'packet' here would be up to 64 KiB of stream and the loss far too gentle."""
        self.no_tcp_loss()
        error = self.offload(False)
        if error:
            return error
        if probability == 0:
            return None
        rules = ("table inet mrcbench {\n chain input {\n  type filter hook input priority 0;\n"
                 f"  meta l4proto tcp numgen random mod 100000 < {round(probability * 100000)} drop\n }}\n}}\n")
        try:
            r = subprocess.run([*self.server, "nft", "-f", "-"], input=rules, capture_output=True, text=True)
        except FileNotFoundError:
            return "nft is not installed (apt-get install nftables)"
        return f"nft refuses a random drop: {r.stderr.strip()}" if r.returncode else None

    def no_tcp_loss(self):
        subprocess.run([*self.server, "sh", "-c", "nft delete table inet mrcbench 2>/dev/null"], check=False)
        self.offload(True)

    def offload(self, on):
        for ns in (self.S, self.C):
            # In a child: a process that has entered a network namespace stays there.
            r = subprocess.run(["ip", "netns", "exec", ns, sys.executable, os.path.abspath(__file__), "p1", str(int(on))],
                               capture_output=True, text=True)
            if r.returncode:
                return f"cannot switch segmentation offload: {r.stderr.strip()[-200:]}"
        return None


def set_offload(interface, on):
    """ETHTOOL_STSO, ETHTOOL_SGSO and ETHTOOL_SGRO of SIOCETHTOOL."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for command in (0x1F, 0x24, 0x2C):
            value = array.array("I", [command, on])
            request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
            fcntl.ioctl(s.fileno(), 0x8946, ctypes.create_string_buffer(request))


if __name__ == "__main__":
    set_offload(sys.argv[1], int(sys.argv[2]))
