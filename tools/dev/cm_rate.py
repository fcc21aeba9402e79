#!/usr/bin/env python3
"""Measures connections by rdma_cm over the shim: how long one takes, and how many a second are made while others are open.

usage: LD_PRELOAD=libmrc-verbs.so tools/dev/cm_rate.py [--open N] [--count N] [--window N] [--targets]

Two processes on loopback write commands to /dev/infiniband/rdma_cm, as librdmacm does; no queue pairs are made. A
connection is timed at the client, from CONNECT until its RTU is sent: first one after another, then WINDOW at a time. The
program fails if a connection is lost, and with --targets if a target is missed, too.
"""
import argparse
import collections
import ctypes
import os
import socket
import statistics
import struct
import sys
import time

PATH = "/dev/infiniband/rdma_cm"
CREATE, BIND, RESOLVE, ROUTE, CONNECT, LISTEN, ACCEPT, GET_EVENT = 0, 2, 3, 4, 6, 7, 8, 12
REQUEST, RESPONSE = 4, 5
TCP = 0x106
EVENT_BYTES = 336
MAX_CONNECT_US, MIN_CONNECTS_PER_S = 1000, 1000  # targets, for a machine that does nothing else


class Channel:
    def __init__(self):
        try:
            self.fd = os.open(PATH, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            sys.exit(f"cm_rate.py: {PATH}: {error.strerror}; the shim provides it: start with LD_PRELOAD=libmrc-verbs.so")
        self.answer = ctypes.create_string_buffer(EVENT_BYTES)
        self.at = ctypes.addressof(self.answer)

    def command(self, number, body, out=0):
        os.write(self.fd, struct.pack("IHH", number, len(body), out) + body)

    def create(self):
        self.command(CREATE, struct.pack("QQHB5x", 7, self.at, TCP, 2), 4)
        return struct.unpack_from("I", self.answer.raw)[0]

    def event(self):
        """kind, status and id"""
        self.command(GET_EVENT, struct.pack("Q", self.at), EVENT_BYTES)
        _, number, kind, status = struct.unpack_from("QIII", self.answer.raw)
        return kind, status, number

    def resolved(self, port):
        number = self.create()
        self.command(RESOLVE, bytes(28) + address(port) + struct.pack("II", number, 1000))
        assert self.event() == (0, 0, number)
        self.command(ROUTE, struct.pack("II", number, 1000))
        assert self.event() == (2, 0, number)
        return number

    def connect(self, number):
        self.command(CONNECT, parameters() + struct.pack("II", number, 0) + bytes(8))

    def accept(self, number, uid=0):
        self.command(ACCEPT, struct.pack("Q", uid) + parameters(valid=bool(uid)) + struct.pack("II", number, 0) + bytes(8))


def address(port):
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton("127.0.0.1") + bytes(20)


def parameters(valid=True):
    return struct.pack("II256x8B", 17, 0, 0, 0, 1, 1, 0, 7, 7, valid)


def serve(port, ready):
    channel = Channel()
    listener = channel.create()
    channel.command(BIND, struct.pack("Q", 0) + address(port) + struct.pack("I", listener))
    channel.command(LISTEN, struct.pack("II", listener, 1024))
    os.write(ready, b".")
    while True:
        kind, _, number = channel.event()
        if kind == REQUEST:
            channel.accept(number, uid=9)


def one_by_one(channel, numbers):
    """seconds of each"""
    times = []
    for number in numbers:
        begun = time.perf_counter()
        channel.connect(number)
        assert channel.event() == (RESPONSE, 0, number)
        channel.accept(number)
        times.append(time.perf_counter() - begun)
    return times


def overlapped(channel, numbers, window):
    """connections per second"""
    waiting, flying = collections.deque(numbers), 0
    begun = time.perf_counter()
    while waiting or flying:
        while waiting and flying < window:
            channel.connect(waiting.popleft())
            flying += 1
        kind, status, number = channel.event()
        assert (kind, status) == (RESPONSE, 0), (kind, status)
        channel.accept(number)
        flying -= 1
    return len(numbers) / (time.perf_counter() - begun)


def judge(connect_us, connects_per_s):
    """Prints each target as tools/bench does; whether all are met."""
    targets = ((connect_us < MAX_CONNECT_US, f"one connect, median: {connect_us:.0f} us   target < {MAX_CONNECT_US} us"),
               (connects_per_s >= MIN_CONNECTS_PER_S, f"connects/s: {connects_per_s:.0f}   target >= {MIN_CONNECTS_PER_S}"))
    for met, words in targets:
        print(f"{words}   {'met' if met else 'MISSED'}")
    return all(met for met, _ in targets)


def main():
    parser = argparse.ArgumentParser(description="connections by rdma_cm over the shim")
    parser.add_argument("--open", type=int, default=1000, help="connections that are open before (default: 1000)")
    parser.add_argument("--count", type=int, default=1000, help="connections measured each way (default: 1000)")
    parser.add_argument("--window", type=int, default=32, help="connections at a time (default: 32)")
    parser.add_argument("--targets", action="store_true", help="exit code 1 if a target is missed")
    options = parser.parse_args()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    readable, ready = os.pipe()
    server = os.fork()
    if server == 0:
        serve(port, ready)
    os.close(ready)
    try:
        if not os.read(readable, 1):
            sys.exit("cm_rate.py: the server failed")
        channel = Channel()
        overlapped(channel, [channel.resolved(port) for _ in range(options.open)], options.window)
        numbers = [channel.resolved(port) for _ in range(2 * options.count)]
        times = sorted(one_by_one(channel, numbers[:options.count]))
        rate = overlapped(channel, numbers[options.count:], options.window)
    finally:
        os.kill(server, 9)
        os.waitpid(server, 0)
    microseconds = [1e6 * t for t in (statistics.median(times), times[len(times) * 9 // 10], times[-1])]
    print(f"{options.open} open; one connect: median {microseconds[0]:.0f} us, 90 % {microseconds[1]:.0f} us, longest {microseconds[2]:.0f} us")
    print(f"{1 / statistics.mean(times):.0f} connects/s one by one, {rate:.0f} connects/s with {options.window} at a time")
    if options.targets and not judge(microseconds[0], rate):
        sys.exit(1)


if __name__ == "__main__":
    main()
