"""UDP in the lab, run there by `mrc-fabric exec`: udp.py send ADDRESS PORT COUNT, or udp.py receive PORT COUNT.

The receiver prints a line when it listens, then one JSON object: how many datagrams came, by destination address. Zero
checksums are sent and accepted, since the destination address changes on the way.
"""
import json
import socket
import sys

IPPROTO_IPV6, IPV6_RECVPKTINFO, IPV6_PKTINFO = 41, 49, 50
IPPROTO_UDP, UDP_NO_CHECK6_TX, UDP_NO_CHECK6_RX = 17, 101, 102


def send(address, port, count):
    for _ in range(int(count)):
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:  # each from a source port of its own
            s.setsockopt(IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
            s.sendto(b"mrc", (address, int(port)))


def receive(port, count):
    came = {}
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        s.setsockopt(IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)
        s.bind(("::", int(port)))
        s.settimeout(20)
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
    {"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
