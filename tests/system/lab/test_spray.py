"""One queue pair uses all paths of a plane alike, as many bytes over each T1, and the planes by their load [MRC-SR-4] [MRC-SR-6]
[MRC-EVS-11]."""
from bench import FABRIC, Lab, Transfer, t1_ports

WITHIN = 0.10


def spray(datapath, words, env=None, prepare=None):
    with Lab(FABRIC) as two:
        if prepare:
            prepare(two)
        before = t1_ports(two)
        # Both ways, so that ports to either T0 carry data; as many bytes both ways.
        with Transfer(two, None, datapath, ["--iters", "1600", "--bidirectional"], {"MRC_LOG": "info", **(env or {})}) as transfer:
            report = transfer.finish()
        sent = {port: count - before[port] for port, count in t1_ports(two).items()}
        assert len(sent) == 8, sent
        planes = [sum(count for port, count in sent.items() if port.startswith(plane)) for plane in ("p0-", "p1-")]
        assert max(planes) <= 2 * min(planes), sent
        # Each direction has shares of the planes of its own: a plane's T1s are alike in what they send to one T0.
        for end in ("t0-0", "t0-1"):
            for plane in ("p0-", "p1-"):
                ports = [count for port, count in sent.items() if port.startswith(plane) and port.endswith(":" + end)]
                assert len(ports) == 2 and max(ports) <= (1 + WITHIN) * min(ports), sent
        assert sum(sent.values()) > report["sizes"][-1]["bytes"], (sent, report["sizes"])
        assert words in transfer.stream.words(), transfer.stream.words()
        assert "no routing rule" not in transfer.stream.words(), transfer.stream.words()
        for name in ("drop_icrc", "drop_source"):
            assert report["counters"][name] == 0, report["counters"]


def test_sockets_with_segmentation_offload():
    spray("udp", "GSO on")


def test_encapsulated_by_the_kernel():
    """[MRC-SR-25] [MRC-SR-27] Plain bursts, for which each host's routes name the switches."""
    spray("udp", "udp with SRv6 by the kernel: 2 planes, 16 EVs, GSO on", {"MRC_SRV6_ENCAP": "kernel"})


def test_encapsulated_by_the_kernel_with_checksums_by_software():
    """[MRC-SR-27]"""
    spray("udp", "udp with SRv6 by the kernel: 2 planes, 16 EVs, GSO off", {"MRC_SRV6_ENCAP": "kernel"}, Lab.software_checksums)


def test_frames_of_our_own():
    spray("raw", "raw frames with SRv6")


def test_hosts_below_one_t0_cross_no_t1():
    with Lab(FABRIC) as two:
        before = sum(t1_ports(two).values())
        with Transfer(two, 1, target="h1") as transfer:
            report = transfer.finish()
        assert sum(t1_ports(two).values()) - before < report["sizes"][-1]["bytes"] / 100
        assert all(plane["tx_packets"] > 0 for plane in report["planes"]), report["planes"]
