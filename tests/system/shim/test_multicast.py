"""Multicast groups over the shim, by an unmodified mckey: on one host, and between two hosts with two planes each.
spec/rdma_cm.md, spec/wire.md"""
import socket

import files
import process
import session
from namespaces import Planes
from wait import until

COMPLAINTS = ("fail", "Sanitizer", "runtime error:")


def members(group, inside=()):
    """How many processes receive the datagrams of a group: by the addresses of UDP sockets, words in the host's order."""
    version = socket.AF_INET6 if ":" in group else socket.AF_INET
    raw = socket.inet_pton(version, group)
    wanted = "".join(raw[i:i + 4][::-1].hex().upper() for i in range(0, len(raw), 4)) + ":"
    table = "/proc/net/udp6" if version == socket.AF_INET6 else "/proc/net/udp"
    lines = process.run([*inside, "cat", table]).stdout.splitlines()
    return sum(line.split()[1].startswith(wanted) for line in lines[1:])


class Member(session.Program):
    def __init__(self, group, address, options=(), inside=(), env=()):
        self.group, self.inside = group, inside
        super().__init__([*inside, "mckey", "-m", group, "-b", address, "-C", "10", *options], session.environment(env))


def exchange(receivers, sender):
    """The sender, which `sender()` starts once all receivers are members; each of them receives all of its datagrams."""
    started = list(receivers)
    try:
        for receiver in receivers:
            count = sum(r.inside == receiver.inside for r in receivers)
            until(lambda: receiver.ended() or members(receiver.group, receiver.inside) >= count, f"no member: {receiver}")
        started.append(sender())
        for member in reversed(started):
            member.wait()
    finally:
        for member in started:
            member.kill()
    for member in started:
        text = str(member)
        assert member.code == 0 and "return status 0" in text, text
        assert not any(complaint in text for complaint in COMPLAINTS), text


def on_one_host(group, receivers, options=()):
    """`options`: of the sender."""
    exchange([Member(group, "127.0.0.1") for _ in range(receivers)], lambda: Member(group, "127.0.0.1", [*options, "-s"]))


def test_mckey():
    """[CM-MC-1]"""
    on_one_host("239.21.0.1", 1)


def test_mckey_three_receivers():
    """[CM-MC-1] [MRC-UD-9]"""
    on_one_host("239.21.0.2", 3)


def test_mckey_a_member_that_only_sends():
    """[CM-MC-1]"""
    on_one_host("239.21.0.3", 1, ["-o"])


def test_mckey_over_shared_memory():
    """Groups take the sockets also where hosts' own packets take shared memory."""
    env = (("MRC_SAME_HOST", "memory"),)
    exchange([Member("239.21.0.4", "127.0.0.1", env=env)], lambda: Member("239.21.0.4", "127.0.0.1", ["-s"], env=env))


def between_hosts(group, addresses):
    with Planes(addresses) as planes:
        def member(side, *options):
            path = files.write(f"side{side}.yaml", "devices:\n  - name: mrc0\n    planes:\n" +
                               "".join(f"      - {{address: '{planes.address(plane, side)}'}}\n" for plane in (1, 2)))
            return Member(group, planes.address(1, side), options, planes.inside(side), (("MRC_CONFIG", path),))
        exchange([member(0), member(0), member(1)], lambda: member(1, "-s"))


def test_mckey_between_hosts_over_two_planes():
    """[MRC-UD-9] Each datagram leaves by one plane, the next one by the other."""
    between_hosts("239.21.0.5", [("10.91.1.1/24", "10.91.1.2/24"), ("10.91.2.77/24", "10.91.2.3/24")])


def test_mckey_between_hosts_over_ipv6():
    """[MRC-UD-9]"""
    between_hosts("ff15::21:6", [("fd00:6d72:1::1/64", "fd00:6d72:1::2/64"), ("fd00:6d72:2::5/64", "fd00:6d72:2::9/64")])
