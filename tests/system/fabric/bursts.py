"""Traffic that asks something of a switch, run in the lab: bursts.py udp|tcp|marks receive, or .. send ADDRESS ..

udp: bursts by segmentation offload with checksums. tcp: a stream, which the kernel sends in pieces far above the MTU.
marks .. CLASS: 100 datagrams at once; the receiver counts them, whole or cut, by their traffic class. The receiver prints a line
when it listens, then one JSON object. ping send ADDRESS HOPS prints who answers.
"""
import errno
import hashlib
import json
import socket
import struct
import sys
import time

from limits import LIMIT_S, limit

IPPROTO_UDP, UDP_NO_CHECK6_RX, UDP_SEGMENT = 17, 102, 103
IPPROTO_IPV6, IPV6_UNICAST_HOPS, IPV6_RECVTCLASS, IPV6_TCLASS = 41, 16, 66, 67
TIME_EXCEEDED, ECHO_REQUEST, ECHO_REPLY = 3, 128, 129
PORT, SEGMENT, SEGMENTS, BURSTS, WHOLE = 6000, 1200, 20, 30, 1000
QUIET_S = limit(3)


def payload(bytes_wanted):
    blocks = (hashlib.sha256(struct.pack(">I", n)).digest() for n in range(bytes_wanted // 32 + 1))
    return b"".join(blocks)[:bytes_wanted]


def send_udp(address):
    burst = payload(SEGMENT * SEGMENTS)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        for _ in range(BURSTS):
            try:
                s.setsockopt(IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
                s.sendto(burst, (address, PORT))
            except OSError as why:
                if why.errno != errno.EIO:  # kernels before 6.11 refuse bursts where the device has no checksum offload
                    raise
                s.setsockopt(IPPROTO_UDP, UDP_SEGMENT, 0)
                for at in range(0, len(burst), SEGMENT):
                    s.sendto(burst[at:at + SEGMENT], (address, PORT))


def receive_udp():
    expected = payload(SEGMENT * SEGMENTS)
    pieces = {expected[i:i + SEGMENT]: 0 for i in range(0, len(expected), SEGMENT)}
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        s.bind(("::", PORT))
        s.settimeout(LIMIT_S)
        print("listening", flush=True)
        for _ in range(BURSTS * SEGMENTS):
            pieces[s.recv(4096)] += 1
    print(json.dumps({"right": set(pieces.values()) == {BURSTS}}))


def send_tcp(address):
    with socket.create_connection((address, PORT), timeout=LIMIT_S) as s:
        s.sendall(payload(1 << 20) * 8)


def receive_tcp():
    with socket.create_server(("::", PORT), family=socket.AF_INET6) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        with connection:
            got = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    print(json.dumps({"right": got == payload(1 << 20) * 8}))


def send_ping(address, hop_limit):
    """Prints who answers an ICMPv6 echo request, and with what type."""
    to = socket.getaddrinfo(address, 0, socket.AF_INET6)[0][4]
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as s:
        s.setsockopt(IPPROTO_IPV6, IPV6_UNICAST_HOPS, int(hop_limit))
        s.settimeout(QUIET_S)
        for _ in range(5):  # the first may have to wait for a neighbour
            s.sendto(struct.pack(">BBHHH", ECHO_REQUEST, 0, 0, 7, 7), to)
            end = time.monotonic() + QUIET_S
            try:
                while time.monotonic() < end:
                    data, (source, *_) = s.recvfrom(2048)
                    quoted = data[8 + 40:] if data[0] == TIME_EXCEEDED else data
                    if data[0] in (ECHO_REPLY, TIME_EXCEEDED) and quoted[4:8] == struct.pack(">HH", 7, 7):
                        print(json.dumps({"from": source.split("%")[0], "type": data[0]}))
                        return
            except socket.timeout:
                pass
    print(json.dumps({}))


def send_marks(address, traffic_class):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(IPPROTO_IPV6, IPV6_TCLASS, int(traffic_class))
        for _ in range(100):
            s.sendto(bytes(WHOLE), (address, PORT))


def receive_marks():
    seen = {}
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(IPPROTO_IPV6, IPV6_RECVTCLASS, 1)
        s.setsockopt(IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)  # what was cut has none
        s.bind(("::", PORT))
        s.settimeout(LIMIT_S)
        print("listening", flush=True)
        try:
            for _ in range(100):
                data, control, _, _ = s.recvmsg(4096, 256)
                s.settimeout(QUIET_S)
                for level, kind, value in control:
                    if (level, kind) == (IPPROTO_IPV6, IPV6_TCLASS):
                        by_class = seen.setdefault("whole" if len(data) == WHOLE else "cut", {})
                        name = str(struct.unpack("i", value)[0])
                        by_class[name] = by_class.get(name, 0) + 1
        except socket.timeout:
            pass
    print(json.dumps(seen))


if __name__ == "__main__":
    globals()[f"{sys.argv[2]}_{sys.argv[1]}"](*sys.argv[3:])
