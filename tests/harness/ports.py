"""Ports of TCP and UDP on this host."""
import itertools
import os

# Below those that the kernel hands out, and above those of MRC's process slots. A test has a network of its own (world); where the
# kernel refuses one, the numbers of the processes keep tests apart that run side by side.
_numbers = itertools.count(24000 + os.getpid() % 8000)


def free():
    return next(_numbers)


def _locals(*tables):
    """(address, port, state) of every socket, as the kernel writes them."""
    for table in filter(os.path.exists, (f"/proc/net/{table}" for table in tables)):  # there may be no IPv6
        with open(table, encoding="ascii") as lines:
            for line in list(lines)[1:]:
                _, local, _, state, *_ = line.split()
                address, _, port = local.partition(":")
                yield address, int(port, 16), state


def listening(port):
    return any(at == port and state == "0A" for _, at, state in _locals("tcp", "tcp6"))


def bound(port):
    """Is a UDP socket bound to it? So a listener of rdma_cm waits."""
    return any(at == port for _, at, _ in _locals("udp", "udp6"))
