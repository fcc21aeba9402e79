"""A peer on another host whose planes nothing configured gives: it is asked over plane 1 [MRC-EXT-1..7]."""
import json
import subprocess

import built
from namespaces import Planes
from pair import Pair, config, settings_of
from process import Process, run


def device(addresses, peers=""):
    lines = ["devices:", "  - name: mrc0", "    planes:"]
    lines += [f"      - {{address: '{address}'}}" for address in addresses]
    return "\n".join(lines) + "\n" + peers


def both_planes_carry_data(addresses, peers):
    with Planes(addresses) as planes:
        env = [config(device([planes.address(plane, side) for plane in (1, 2)], peers), f"side{side}.yaml")
               for side in (0, 1)]
        pair = Pair(["--verify", "--bidirectional", "--size", "1M", "--iters", "200"], env[1], server_env=env[0],
                    prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0))
        assert pair.finish() == (0, 0), pair
    report = pair.report()
    assert report["ok"] is True and report["sizes"][0]["mismatches"] == 0, pair.client
    counters = report["counters"]
    assert counters["planes_learnt"] == 1, counters
    assert counters["drop_source"] == 0, counters
    for direction in ("tx_packets", "rx_packets"):
        total = sum(plane[direction] for plane in report["planes"])
        for plane in report["planes"]:
            assert plane["up"] == 1, report["planes"]
            assert plane[direction] > total / 20, report["planes"]


def test_both_planes_over_ipv6():
    both_planes_carry_data([("fd00:6d72:1::1/64", "fd00:6d72:1::2/64"), ("fd00:6d72:2::5/64", "fd00:6d72:2::9/64")],
                           "    peers: {learn: true}\n")


def test_both_planes_over_ipv4_without_any_rule():
    both_planes_carry_data([("10.91.1.1/24", "10.91.1.2/24"), ("10.91.2.77/24", "10.91.2.3/24")], "")


def test_a_probe_of_a_host_to_which_nothing_is_connected():
    """Operators probe before a job runs: no queue pair has asked the host for its planes."""
    addresses = [("10.91.1.1/24", "10.91.1.2/24"), ("10.91.2.77/24", "10.91.2.3/24")]
    with Planes(addresses) as planes:
        env = [settings_of(config(device([planes.address(plane, side) for plane in (1, 2)]), f"side{side}.yaml"))
               for side in (0, 1)]
        mrcctl = built.path("MRCCTL")
        planes.await_links()
        with Process([*planes.inside(0), mrcctl, "respond"], env[0], stdin=subprocess.PIPE) as responder:
            responder.out_until("ready")
            probed = run([*planes.inside(1), mrcctl, "--json", "probe", planes.address(1, 0), "--max", 4, "--timeout-ms", 4000],
                         env[1])
            peer = json.loads(probed.stdout)["peers"][0]
            assert [(path["port"], path["answered"]) for path in peer["paths"]] == [(1, True), (2, True)] * 4, peer
