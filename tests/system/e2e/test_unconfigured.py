"""Hosts that nothing configured: their devices are on loopback, and a peer elsewhere is refused at once."""
import time

import built
from limits import limit
from namespaces import Planes
from pair import Pair, config, settings_of
from process import run
from skip import need_program
from wait import until

ADDRESSES = [("10.91.1.1/24", "10.91.1.2/24")]


def test_a_peer_on_another_host_is_refused_with_the_file_to_write():
    with Planes(ADDRESSES) as planes:
        begin = time.monotonic()
        pair = Pair([], prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0))
        assert pair.finish() == (1, 1), pair
        assert time.monotonic() - begin < limit(10), "the refusal came late"
        assert "is on loopback, because no configuration gives it planes" in pair.client.err, pair
        assert "write /etc/mrc/mrc.yaml" in pair.client.err, pair


def test_containers_that_share_a_network_namespace_reach_each_other():
    need_program("unshare", "util-linux")
    with Planes(ADDRESSES) as planes:
        container = [*planes.inside(0), "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        pair = Pair(["--verify", "--size", "64K", "--iters", "20"], prefixes=(container, container))
        assert pair.finish() == (0, 0), pair


TWO = [("10.91.1.1/24", "10.91.1.2/24"), ("10.91.2.1/24", "10.91.2.2/24")]


def test_interfaces_are_planes_where_a_variable_says_so():
    with Planes(TWO) as planes:
        for chosen in ("auto", "plane"):
            def planes_used(chosen=chosen):
                pair = Pair(["--verify", "--bidirectional", "--size", "256K", "--iters", "20"], {"MRC_INTERFACES": chosen},
                            prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0))
                assert pair.finish() == (0, 0), pair
                return [plane["rx_packets"] > 0 for plane in pair.report()["planes"]]

            # The peer's second plane is found while data move: on a busy machine they may all have moved by then.
            until(lambda used=planes_used: used() == [True, True], f"MRC_INTERFACES={chosen}: the second plane is not used")


def test_a_suggested_file_is_accepted():
    with Planes(TWO) as planes:
        env = [config(run([*planes.inside(side), built.path("MRC_INFO"), "--suggest"], settings_of({})).stdout,
                      f"side{side}.yaml") for side in (0, 1)]
        pair = Pair(["--verify", "--size", "256K", "--iters", "20"], env[1], server_env=env[0],
                    prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0))
        assert pair.finish() == (0, 0), pair
        assert len(pair.report()["planes"]) == 2, pair.client
    refused = run([built.path("MRC_INFO"), "--suggest"], settings_of({"MRC_INTERFACES": "=nosuch0"}), code=1)
    assert "MRC_INTERFACES: value is '=nosuch0', but none of these interfaces" in refused.stderr, refused.stderr
