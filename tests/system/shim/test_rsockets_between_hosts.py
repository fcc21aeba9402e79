"""Datagram rsockets between two hosts with two planes each, one of which dies [VRB-UD-7] [CM-DEV-4]. The server lives through all of
it; each client compares every datagram that comes back. spec/rdma_cm.md"""
import os
import sys

import files
import process
import session
from namespaces import Planes, ip
from wait import until

DATAGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "datagram_rsockets.py")
PORT = 7471
IPV4 = [("10.93.1.1/24", "10.93.1.2/24"), ("10.93.2.1/24", "10.93.2.2/24")]
IPV6 = [("fd00:6d72:3::1/64", "fd00:6d72:3::2/64"), ("fd00:6d72:4::1/64", "fd00:6d72:4::2/64")]


def program(planes, side, role):
    """In the namespace of that side. The address is the server's one of plane 1, which is a GID of its device."""
    path = files.write(f"side{side}.yaml", "devices:\n  - name: mrc0\n    planes:\n" +
                       "".join(f"      - {{address: '{planes.address(plane, side)}'}}\n" for plane in (1, 2)))
    return session.Program([*planes.inside(side), sys.executable, "-B", DATAGRAMS, role, planes.address(1, 0), PORT],
                           session.environment((("MRC_CONFIG", path),)))


def is_bound(planes):
    lines = process.run([*planes.inside(0), "cat", "/proc/net/udp", "/proc/net/udp6"]).stdout.splitlines()
    return any(f":{PORT:04X} " in line for line in lines)


def come_back(planes, server):
    with program(planes, 1, "client") as client:
        client.wait()
    both = f"{client}\n{server}"
    assert client.code == 0 and "56 datagrams came back" in client.out, both
    assert "Sanitizer" not in both and "runtime error:" not in both, both


def between_hosts(addresses):
    with Planes(addresses) as planes, program(planes, 0, "server") as server:
        until(lambda: is_bound(planes) or server.ended(), lambda: f"not bound: {server}")
        come_back(planes, server)
        for side in (1, 0):  # the client's own end first: its device opens without the plane
            for state in ("down", "up"):
                ip("-n", planes.names[side], "link", "set", "plane2", state)
                if ":" in addresses[1][side] and state == "up":  # IPv6 addresses do not survive that
                    ip("-n", planes.names[side], "address", "add", addresses[1][side], "dev", "plane2", "nodad")
                come_back(planes, server)
        server.kill()


def test_datagram_rsockets_while_a_plane_dies_and_returns():
    between_hosts(IPV4)


def test_datagram_rsockets_over_ipv6_while_a_plane_dies_and_returns():
    between_hosts(IPV6)
