"""UDP in the lab, run there by `mrc-fabric exec`: udp.py send ADDRESS PORT COUNT, udp.py bursts ADDRESS PORT COUNT SOURCE_PORT
SEGMENTS (with checksums, by segmentation offload), udp.py receive PORT COUNT, or udp.py checksums on|off INTERFACE... (computed by
the interface, or by software); udp.py wrapped SOURCE TARGET LIST sends datagrams inside outer headers for LIST, some of which a
switch seems to have marked, and udp.py marks prints the traffic classes of those that came.

The receiver prints a line when it listens, then one JSON object: how many datagrams came, by destination address. Zero
checksums are sent and accepted, since the destination address changes on the way.
"""
import array
import fcntl
import json
import socket
import struct
import sys

from limits import LIMIT_S

IPPROTO_IPV6, IPV6_RECVPKTINFO, IPV6_PKTINFO = 41, 49, 50
IPPROTO_UDP, UDP_NO_CHECK6_TX, UDP_NO_CHECK6_RX, UDP_SEGMENT = 17, 101, 102, 103
IPV6_RECVTCLASS, IPV6_TCLASS, WRAPPED_PORT = 66, 67, 7001
SO_RCVBUFFORCE, SIOCETHTOOL, ETHTOOL_STXCSUM = 33, 0x8946, 0x17
SEGMENT = 1000


def send(address, port, count):
    for _ in range(int(count)):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:  # each from a source port of its own
            s.setsockopt(IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
            s.sendto(b"mrc", (address, int(port)))


def bursts(address, port, count, source_port, segments):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind(("::", int(source_port)))
        if int(segments) > 1:
            s.setsockopt(IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
        for _ in range(int(count)):
            s.sendto(bytes(SEGMENT * int(segments)), (address, int(port)))


def checksums(word, *interfaces):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        for interface in interfaces:
            value = array.array("I", [ETHTOOL_STXCSUM, word == "on"])
            fcntl.ioctl(s, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), value.buffer_info()[0]))


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def wrapped(source, target, path):
    """Inner and outer traffic class: capable of ECN, unmarked and marked; then other code points as well."""
    ends = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, target)
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, IPPROTO_IPV6) as s:
        for inner, outer in ((0x02, 0x02), (0x02, 0x03), (0x12, 0x33)):
            udp = struct.pack("!HHHH", 41000, WRAPPED_PORT, 8, 0)
            udp = udp[:6] + struct.pack("!H", checksum(ends + struct.pack("!II", 8, IPPROTO_UDP) + udp))
            s.setsockopt(IPPROTO_IPV6, IPV6_TCLASS, outer)
            s.sendto(struct.pack("!IHBB", 6 << 28 | inner << 20, len(udp), IPPROTO_UDP, 64) + ends + udp, (path, 0))


def marks():
    classes = []
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(IPPROTO_IPV6, IPV6_RECVTCLASS, 1)
        s.bind(("::", WRAPPED_PORT))
        s.settimeout(LIMIT_S)
        print("listening", flush=True)
        while len(classes) < 3:
            _, control, _, _ = s.recvmsg(2048, 256)
            classes += [struct.unpack("i", data)[0] for level, kind, data in control if (level, kind) == (IPPROTO_IPV6, IPV6_TCLASS)]
    print(json.dumps(classes))


def receive(port, count):
    came = {}
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        s.setsockopt(IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        s.bind(("::", int(port)))
        s.settimeout(LIMIT_S)
        print("listening", flush=True)
        try:
            for _ in range(int(count)):
                _, control, _, _ = s.recvmsg(2048, 256)
                for level, kind, data in control:
                    if (level, kind) == (IPPROTO_IPV6, IPV6_PKTINFO):
                        to = socket.inet_ntop(socket.AF_INET6, data[:16])
                        came[to] = came.get(to, 0) + 1
        except socket.timeout:
            pass
    print(json.dumps(came))


if __name__ == "__main__":
    {"send": send, "bursts": bursts, "checksums": checksums, "receive": receive, "wrapped": wrapped, "marks": marks}[sys.argv[1]](*sys.argv[2:])
