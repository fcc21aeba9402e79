"""The MTU of a path falls in the middle of a transfer, or an unknown source claims that it did [MRC-MTU-1..6]."""
import os
import sys

from namespaces import Planes, ip
from pair import Pair, config
from process import run
from test_learn import device
from wait import until

ADDRESSES = [("10.92.1.1/24", "10.92.1.2/24"), ("10.92.2.1/24", "10.92.2.2/24")]


RETRIES = "retry_exp: 6\n"  # two seconds: longer than the searches take, shorter than the run


def falls(sides, planes, more=""):
    """Runs until data flow, then sets the MTU of those interfaces from 9000 to 1500. The client is side 1."""
    with Planes(ADDRESSES) as lab:
        env = [config(RETRIES + more + device([lab.address(plane, side) for plane in (1, 2)]), f"side{side}.yaml")
               for side in (0, 1)]
        with Pair(["--size", "1M", "--duration", "5", "--timeline", "100"], env[1], server_env=env[0],
                  prefixes=(lab.inside(0), lab.inside(1)), host=lab.address(1, 0)) as pair:
            pair.until_data_flows()
            for side in sides:
                for plane in planes:
                    ip("-n", lab.names[side], "link", "set", f"plane{plane}", "mtu", "1500")
            return pair, pair.finish()


def failed_with_reason(pair, codes):
    assert codes == (1, 1), pair
    assert "larger than any path" in pair.client.err, pair.client
    assert "to peer 10.92." in pair.client.err and "path MTU 1024 and not of 4096" in pair.client.err, pair.client


def test_all_planes_the_kernel_refuses():
    """The interface of the sender: every full packet is refused with EMSGSIZE."""
    failed_with_reason(*falls([0, 1], (1, 2)))


def test_all_planes_silently():
    """The interface of the receiver: full packets vanish without any report."""
    failed_with_reason(*falls([0], (1, 2), "gso: off\n"))


def test_one_plane():
    """The other plane goes on with full packets."""
    pair, codes = falls([0, 1], (2,))
    assert codes == (0, 0), pair
    report = pair.report()
    assert report["counters"]["mtu_searches"] > 0 and report["counters"]["mtu_failures"] == 0, report["counters"]
    assert report["counters"]["qp_errors"] == 0, report["counters"]
    assert "plane 2 to peer 10.92.2.1 carries packets of path MTU 1024" in pair.client.err, pair.client


def source_ports(lab, side):
    """UDP ports that are bound there."""
    tables = run([*lab.inside(side), "cat", "/proc/net/udp", "/proc/net/udp6"]).stdout
    fields = [line.split()[1] for line in tables.splitlines() if ":" in line.split()[0]]
    return sorted({int(field.rpartition(":")[2], 16) for field in fields} - {0})


def a_forger_says_too_big(addresses, mtu):
    """Any host can send that for any source port of the victim; one packet a plane was enough once."""
    forger = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packet_too_big.py")
    with Planes(addresses) as lab:
        env = [config(device([lab.address(plane, side) for plane in (1, 2)]), f"side{side}.yaml") for side in (0, 1)]
        pair = Pair(["--size", "1M", "--duration", "3", "--timeline", "100"], env[1], server_env=env[0],
                    prefixes=(lab.inside(0), lab.inside(1)), host=lab.address(1, 0))
        try:
            pair.until_data_flows()
            ports = source_ports(lab, 1)

            def takes(plane):  # not always the first one: queues are full, and a kernel without a processor is late
                victim, peer = lab.address(plane, 1), lab.address(plane, 0)
                run([*lab.inside(0), sys.executable, "-B", forger, victim, peer, mtu, *ports])
                return f"mtu {mtu}" in ip("-n", lab.names[1], "route", "get", peer)

            for plane in (1, 2):
                until(lambda plane=plane: takes(plane), f"the kernel did not take the forgery of plane {plane}")
            codes = pair.finish()
        finally:
            pair.client.kill()
            pair.server.kill()
    assert codes == (0, 0), f"{pair.client}\n{pair.server}"
    counters = pair.report()["counters"]
    assert counters["qp_errors"] == 0 and counters["mtu_failures"] == 0, counters
    for plane in pair.report()["planes"]:
        assert plane["up"] == 1, pair.report()["planes"]


def test_a_forger_says_too_big_over_ipv6():
    a_forger_says_too_big([("fd00:6d72:1::1/64", "fd00:6d72:1::2/64"), ("fd00:6d72:2::1/64", "fd00:6d72:2::2/64")], 1280)


def test_a_forger_says_too_big_over_ipv4():
    a_forger_says_too_big(ADDRESSES, 552)
