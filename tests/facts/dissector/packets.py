"""Capture files made and read by hand: Ethernet, IPv4 or IPv6, UDP, and what lies inside.

A record is one UDP datagram: (flow, payload). Flow has what the ICRC and the EV are made of.
usage: packets.py SRC DST SRC_PORT DST_PORT HEX     prints a packet, BTH to pad, with its ICRC, for spec/vectors
"""
import ipaddress
import struct
import sys
import zlib
from dataclasses import dataclass, replace

ETHERNET, RAW_IP, LINUX_SLL2, LINUX_SLL = 1, 101, 276, 113
LINK_HEADER = {ETHERNET: 14, RAW_IP: 0, LINUX_SLL: 16, LINUX_SLL2: 20}


@dataclass(frozen=True)
class Flow:
    src: str
    dst: str
    src_port: int
    dst_port: int
    label: int = 0
    traffic_class: int = 0

    def with_(self, **changes):
        return replace(self, **changes)


V6 = Flow("fd00::1", "fd00:1::2", 4660, 4791)
V4 = Flow("10.0.0.1", "10.0.0.2", 49153, 4971)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(flow, payload):
    """The datagram as an Ethernet frame, all checksums right."""
    src, dst = ipaddress.ip_address(flow.src), ipaddress.ip_address(flow.dst)
    length = 8 + len(payload)
    pseudo = src.packed + dst.packed + struct.pack(">II", length, 17)
    udp = struct.pack(">HHHH", flow.src_port, flow.dst_port, length, 0)
    udp = udp[:6] + struct.pack(">H", checksum(pseudo + udp + payload) or 0xFFFF) + payload
    macs = bytes.fromhex("02000000000202000000000" + "1")
    if src.version == 6:
        head = struct.pack(">IHBB", 6 << 28 | flow.traffic_class << 20 | flow.label, length, 17, 64)
        return macs + b"\x86\xdd" + head + src.packed + dst.packed + udp
    head = struct.pack(">BBHHHBBH", 0x45, flow.traffic_class, 20 + length, 0, 0x4000, 64, 17, 0) + src.packed + dst.packed
    return macs + b"\x08\x00" + head[:10] + struct.pack(">H", checksum(head)) + head[12:] + udp


def encapsulated(flow, payload, outer_src, outer_dst):
    """The same within an outer IPv6 header, as a source that steers by SRv6 sends it."""
    inner = frame(flow, payload)[14:]
    proto = 41 if inner[0] >> 4 == 6 else 4
    outer = struct.pack(">IHBB", 6 << 28 | flow.label, len(inner), proto, 64)
    outer += ipaddress.ip_address(outer_src).packed + ipaddress.ip_address(outer_dst).packed
    return bytes.fromhex("020000000002020000000001") + b"\x86\xdd" + outer + inner


def write(path, frames, snap=262144):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, ETHERNET))
        for i, data in enumerate(frames):
            out.write(struct.pack("<IIII", i, 0, min(len(data), snap), len(data)) + data[:snap])


def read(path):
    """(flow, UDP payload) of each frame of a capture of dumpcap -P or tcpdump; None where it is no UDP datagram."""
    with open(path, "rb") as source:
        data = source.read()
    magic, *_, link = struct.unpack("<IHHiIII", data[:24])
    assert magic in (0xA1B2C3D4, 0xA1B23C4D), hex(magic)
    at, found = 24, []
    while at + 16 <= len(data):
        _, _, kept, length = struct.unpack("<IIII", data[at:at + 16])
        found.append(datagram(data[at + 16 + LINK_HEADER[link]:at + 16 + kept]) if kept == length else None)
        at += 16 + kept
    return found


def datagram(packet):
    if packet[0] >> 4 == 6 and packet[6] == 17:
        first, = struct.unpack(">I", packet[:4])
        src, dst = ipaddress.IPv6Address(packet[8:24]), ipaddress.IPv6Address(packet[24:40])
        tclass, label, udp = first >> 20 & 0xFF, first & 0xFFFFF, packet[40:]
    elif packet[0] == 0x45 and packet[9] == 17:
        src, dst = ipaddress.IPv4Address(packet[12:16]), ipaddress.IPv4Address(packet[16:20])
        tclass, label, udp = packet[1], 0, packet[20:]
    else:
        return None
    src_port, dst_port = struct.unpack(">HH", udp[:4])
    return Flow(str(src), str(dst), src_port, dst_port, label, tclass), udp[8:]


def with_icrc(flow, packet):
    """`packet` (BTH to pad) with its trailer, computed by zlib: a third opinion beside ISA-L and the Lua script."""
    src, dst = ipaddress.ip_address(flow.src).packed, ipaddress.ip_address(flow.dst).packed
    udp = len(packet) + 4 + 8
    if len(src) == 16:
        head = struct.pack(">IHBB", 0x6FFFFFFF, udp, 17, 0xFF)
    else:
        head = struct.pack(">BBHHHBBH", 0x45, 0xFF, udp + 20, 0, 0x4000, 0xFF, 17, 0xFFFF)
    head = b"\xff" * 8 + head + src + dst + struct.pack(">HHHH", flow.src_port, flow.dst_port, udp, 0xFFFF)
    return packet + struct.pack("<I", zlib.crc32(head + packet[:4] + b"\xff" + packet[5:]))


if __name__ == "__main__":  # SRC DST SRC_PORT DST_PORT HEX
    print(with_icrc(Flow(*sys.argv[1:3], *map(int, sys.argv[3:5])), bytes.fromhex(sys.argv[5])).hex())
