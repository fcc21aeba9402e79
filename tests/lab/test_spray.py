"""One queue pair uses all paths of the fabric alike: as many bytes over each T1 of each plane [MRC-SR-4] [MRC-SR-6]."""
from bench import FABRIC, Lab, Transfer, t1_ports

WITHIN = 0.10


def spray(datapath, words):
    with Lab(FABRIC) as two:
        before = t1_ports(two)
        # Both ways, so that ports to either T0 carry data; as many bytes both ways.
        with Transfer(two, None, datapath, ["--iters", "1600", "--bidirectional"], {"MRC_LOG": "info"}) as transfer:
            report = transfer.finish()
        sent = {port: count - before[port] for port, count in t1_ports(two).items()}
        assert len(sent) == 8, sent
        assert max(sent.values()) <= (1 + WITHIN) * min(sent.values()), sent
        assert sum(sent.values()) > report["sizes"][-1]["bytes"], (sent, report["sizes"])
        assert words in transfer.stream.words(), transfer.stream.words()
        for name in ("drop_icrc", "drop_source"):
            assert report["counters"][name] == 0, report["counters"]


def test_sockets_with_segmentation_offload():
    spray("udp", "GSO on")


def test_frames_of_our_own():
    spray("raw", "raw frames with SRv6")


def test_hosts_below_one_t0_cross_no_t1():
    with Lab(FABRIC) as two:
        before = sum(t1_ports(two).values())
        with Transfer(two, 1, target="h1") as transfer:
            report = transfer.finish()
        assert sum(t1_ports(two).values()) - before < report["sizes"][-1]["bytes"] / 100
        assert all(plane["tx_packets"] > 0 for plane in report["planes"]), report["planes"]
