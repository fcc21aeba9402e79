"""The MTU of a path falls in the middle of a transfer [MRC-MTU-1..5]."""
from namespaces import Planes, ip
from pair import Pair, config
from test_learn import device

ADDRESSES = [("10.92.1.1/24", "10.92.1.2/24"), ("10.92.2.1/24", "10.92.2.2/24")]


def falls(sides, planes, more=""):
    """Runs until data flow, then sets the MTU of those interfaces from 9000 to 1500. The client is side 1."""
    with Planes(ADDRESSES) as lab:
        env = [config(more + device([lab.address(plane, side) for plane in (1, 2)]), f"side{side}.yaml")
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
