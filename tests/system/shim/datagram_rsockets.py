"""Datagram rsockets of librdmacm: an echo server, and a client that compares what comes back. Runs with the shim preloaded.

usage: datagram_rsockets.py server|client ADDRESS PORT
"""
import ctypes
import os
import random
import select
import socket
import struct
import sys
import time

rdmacm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
SIZES = [8, 9, 64, 100, 1000, 1500, 1900] * 8  # a datagram rsocket carries 2048 bytes with its own header
AGAIN_S, POLL_S = 1, 0.0005


class PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def sockaddr(address, port):
    if ":" in address:
        return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + socket.inet_pton(socket.AF_INET6, address) + bytes(4)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)


def checked(name, *arguments):
    result = getattr(rdmacm, name)(*arguments)
    assert result >= 0, f"{name}: {os.strerror(ctypes.get_errno())}"
    return result


def serve(own):
    """Until it is killed."""
    fd = checked("rsocket", socket.AF_INET6 if len(own) == 28 else socket.AF_INET, socket.SOCK_DGRAM, 0)
    checked("rbind", fd, own, len(own))
    data, peer = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(128)
    while True:
        length = ctypes.c_uint(128)
        size = checked("rrecvfrom", fd, data, 4096, 0, peer, ctypes.byref(length))
        checked("rsendto", fd, data, size, 0, peer, length)


def ask(fd, message):
    """Sends it until it comes back; answers to earlier copies come, too. rpoll() must not wait: when its time is over librdmacm 44
    counts it as waiting for ever, and a later call does not look at the time any more."""
    answer = ctypes.create_string_buffer(4096)
    while True:
        checked("rsend", fd, message, len(message), 0)
        again = time.monotonic() + AGAIN_S
        while time.monotonic() < again:
            waits = PollFd(fd, select.POLLIN, 0)
            if checked("rpoll", ctypes.byref(waits), 1, 0) == 0:
                time.sleep(POLL_S)
                continue
            size = checked("rrecv", fd, answer, 4096, 0)
            if answer.raw[:8] == message[:8]:
                assert answer.raw[:size] == message, f"number {message[:8].hex()}: {size} bytes, some wrong"
                return


def call(peer):
    fd = checked("rsocket", socket.AF_INET6 if len(peer) == 28 else socket.AF_INET, socket.SOCK_DGRAM, 0)
    checked("rconnect", fd, peer, len(peer))
    data = random.Random(3)
    for number, size in enumerate(SIZES, 1):
        ask(fd, struct.pack("!Q", number) + data.randbytes(size - 8))
    checked("rclose", fd)
    print(f"{len(SIZES)} datagrams came back")


if __name__ == "__main__":
    {"server": serve, "client": call}[sys.argv[1]](sockaddr(sys.argv[2], int(sys.argv[3])))
