"""Packets in the lab: each path by its uSID list, over the T1 of the plan, by the kernel's counters."""
import json
import os
import sys

import built
from lab import LIMIT_S, TWO, Lab
from skip import need_program

UDP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "udp.py")
BURSTS = 100
PACKETS = 200  # far more than the messages of neighbours and routers


class Receiver:
    def __init__(self, two, node, count, port=5000, words=None):
        words = words or ["receive", str(port), str(count)]
        self.process = two.starts(node, sys.executable, "-B", UDP, *words)
        self.process.out_until("^listening$", LIMIT_S)

    def came(self):
        self.process.wait(LIMIT_S)
        return json.loads(self.process.out.removeprefix("listening\n"))


def spread(two, source, target, destination, arrives):
    """Sends PACKETS there; they must arrive at that address. Returns how many more each T1 port has sent."""
    receiver = Receiver(two, target, PACKETS)
    before = two.sent()
    two.run(source, sys.executable, "-B", UDP, "send", destination, "5000", str(PACKETS))
    came = receiver.came()
    assert came == {arrives: PACKETS}, came
    return {port: sent - before[port] for port, sent in two.sent().items() if "-t1-" in port.split(":")[0]}


def test_every_path_crosses_its_t1():
    with Lab() as two:
        for plane in (0, 1):
            for t1 in (0, 1):
                path = f"fcbb:bb00:{plane}400:{plane}80{t1}:{plane}401:{plane}c03::".replace(":0", ":")
                ports = spread(two, "h0", "h3", path, f"fcbb:bb00:{plane}c03::".replace(":0", ":"))
                expected = f"p{plane}-t1-{t1}:t0-1"
                assert ports[expected] >= PACKETS, (path, ports)
                assert all(sent < PACKETS / 4 for port, sent in ports.items() if port != expected), (path, ports)


def test_below_one_t0_no_t1_is_crossed():
    with Lab() as two:
        ports = spread(two, "h0", "h1", "fcbb:bb00:400:c01::", "fcbb:bb00:c01::")
        assert all(sent < PACKETS / 4 for sent in ports.values()), ports


def test_an_unknown_usid_list_is_dropped_without_an_answer():
    with Lab() as two:
        receiver = Receiver(two, "h3", 1)
        for wrong in ("fcbb:bb00:400:8ff:401:c01::", "fcbb:bb00:400:800:400:9999::"):
            two.run("h0", sys.executable, "-B", UDP, "send", wrong, "5000", "3")
        two.run("h0", sys.executable, "-B", UDP, "send", "fd00:1:1::2", "5000", "1")
        assert receiver.came() == {"fd00:1:1::2": 1}
        # It passes the ports of the T0 that drops it, and that is no arrival.
        for wrong, node in (("fcbb:bb00:999::", "p0-t0-0"), ("fcbb:bb00:c01::", "h1")):
            path, = two.json("trace", "h0", "h3", wrong, "--wait", "100", code=1)
            assert path["hops"][-1]["node"] == node and path["hops"][-1]["seen_in"] == 1, path
            assert not path["reaches_target"] and (path["sent"], path["arrived"]) == (1, 0), path


def test_ecmp_spreads_plain_addresses():
    with Lab(TWO + "switch: {forwarding: ecmp}\n") as two:
        ports = spread(two, "h0", "h3", "fd00:2:1::2", "fd00:2:1::2")
        over = [ports["p1-t1-0:t0-1"], ports["p1-t1-1:t0-1"]]
        assert min(over) > PACKETS / 8, ports
        # One of two is gone: the other takes all, and both carry again when it is back.
        two("fault", "port", "p1-t0-0:t1-0", "down")
        ports = spread(two, "h0", "h3", "fd00:2:1::2", "fd00:2:1::2")
        assert ports["p1-t1-1:t0-1"] >= PACKETS, ports
        two("fault", "clear")
        ports = spread(two, "h0", "h3", "fd00:2:1::2", "fd00:2:1::2")
        assert min(ports["p1-t1-0:t0-1"], ports["p1-t1-1:t0-1"]) > PACKETS / 8, ports


def test_encapsulation_by_a_kernel_route():
    """IPv6-in-IPv6 as the specification has it; the last uSID makes the receiving host unwrap it."""
    with Lab() as two:
        two.run("h0", "ip", "-6", "route", "add", "fd00:2:1::2/128", "encap", "seg6", "mode", "encap.red", "segs",
                "fcbb:bb00:1400:1800:1401:1c03:ffff::", "dev", "p1", "src", "fd00:2::1")
        ports = spread(two, "h0", "h3", "fd00:2:1::2", "fd00:2:1::2")
        assert ports["p1-t1-0:t0-1"] >= PACKETS, ports


def by_source_port(two, segments):
    """Each T1's part of the source ports, at both ends: bursts to the peer's own address cross that T1 alone [MRC-SR-26]."""
    for plane in (0, 1):
        own = f"fcbb:bb00:{plane}c03::".replace(":0", ":")
        for t1, port in ((0, 32768), (0, 40959), (1, 40960), (1, 49151)):
            receiver = Receiver(two, "h3", BURSTS * segments)
            before = two.sent()
            two.run("h0", sys.executable, "-B", UDP, "bursts", own, "5000", str(BURSTS), str(port), str(segments))
            assert receiver.came() == {own: BURSTS * segments}
            sent = {name: count - before[name] for name, count in two.sent().items() if "-t1-" in name.split(":")[0]}
            expected = f"p{plane}-t1-{t1}:t0-1"
            assert BURSTS <= sent[expected] < BURSTS * 5 / 4, (plane, port, sent)  # not segmented on the way
            assert all(count < BURSTS / 4 for name, count in sent.items() if name != expected), (plane, port, sent)


def test_the_source_port_chooses_the_t1():
    with Lab() as two:
        by_source_port(two, 8)
        receiver = Receiver(two, "h1", BURSTS)
        before = two.sent()
        two.run("h0", sys.executable, "-B", UDP, "bursts", "fcbb:bb00:c01::", "5000", str(BURSTS), "40960", "1")
        assert receiver.came() == {"fcbb:bb00:c01::": BURSTS}
        after = two.sent()
        assert all(after[name] - before[name] < BURSTS / 4 for name in after if "-t1-" in name.split(":")[0]), after


def test_the_source_port_chooses_the_t1_with_checksums_by_software():
    with Lab() as two:
        two.software_checksums()
        by_source_port(two, 1)


def test_the_mark_of_an_outer_header_arrives():
    """[MRC-SR-28]"""
    need_program("nft", "nftables")
    with Lab() as two:
        receiver = Receiver(two, "h3", 3, words=["marks"])
        two.run("h0", sys.executable, "-B", UDP, "wrapped", "fcbb:bb00:c00::", "fcbb:bb00:c03::",
                "fcbb:bb00:400:800:401:c03:ffff:0")
        assert receiver.came() == [0x02, 0x03, 0x13]


def test_rules_and_routes_return_with_the_port():
    with Lab() as two:
        two("fault", "port", "h0:p0", "down")
        two("fault", "clear")
        by_source_port(two, 8)


def test_hosts_reach_each_other_by_name():
    """On the management network, which works whatever is broken."""
    with Lab() as two:
        for switch in ("p0-t0-0", "p1-t0-0"):
            two("fault", "switch", switch, "down")
        receiver = Receiver(two, "h3", 1)
        two.run("h0", sys.executable, "-B", UDP, "send", "h3", "5000", "1")
        assert receiver.came() == {"fd00::4": 1}


def test_mrc_over_the_lab():
    """Hosts find their configuration; every byte compared; a T1 dies in the middle of the fabric's planes."""
    perf = built.path("MRC_PERF")
    with Lab(TWO.replace("10G", "1G") + "switch: {forwarding: ecmp}\n") as two:
        two("fault", "link", "p0-t0-0:t1-0", "down")
        with two.starts("h3", perf, "-q", "--port", "7000") as server:
            out = two.run("h0", perf, "h3", "--port", "7000", "-q", "--verify", "--size", "256K", "--iters", "200", "--json", "-")
            assert server.wait(LIMIT_S) == 0, server
        report = json.loads(out)
        assert report["ok"] and report["sizes"][0]["mismatches"] == 0, report
        assert len(report["planes"]) == 2 and all(p["tx_packets"] > 0 for p in report["planes"]), report["planes"]
