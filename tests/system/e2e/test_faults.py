"""Transfers under MRC_FAULT: no wrong byte, no error, and the counters show that the fault took place."""
from pair import succeed, verified


def faulty(fault, *args):
    return verified([*args], {"MRC_FAULT": "seed=7;" + fault})


def client_to_server(report):
    """Losses of the direction that carries the data; the server's verdicts go the other way."""
    there = report["losses"][0]
    assert (there["from"], there["to"]) == ("client", "server"), report["losses"]
    return there


def test_loss():
    report = faulty("loss=0.01", "--size", "1M", "--iters", "128")
    assert report["counters"]["retransmits"] > 0, report["counters"]
    losses = client_to_server(report)
    assert losses["sent_again"] >= losses["network"] > 0 == losses["trimmed"] == losses["corrupted"], losses


def test_loss_with_small_packets():
    report = faulty("loss=0.02", "--mtu", "1024", "--size", "20000", "--iters", "1000", "--op", "write-imm")
    assert report["counters"]["retransmits"] > 0, report["counters"]


def test_burst_loss():
    report = faulty("burstloss=0.001/20", "--size", "256K", "--iters", "400")
    assert report["counters"]["retransmits"] > 0, report["counters"]


def test_corruption():
    report = faulty("corrupt=0.01", "--size", "256K", "--iters", "400", "--bidirectional")
    counters = report["counters"]
    assert counters["drop_icrc"] + counters["drop_decode"] > 0, counters
    there, back = report["losses"]
    assert (there["from"], there["to"], back["from"], back["to"]) == ("client", "server", "server", "client"), report["losses"]
    assert there["corrupted"] > 0 and back["corrupted"] > 0, report["losses"]


def test_duplication():
    report = faulty("dup=0.02", "--size", "256K", "--iters", "400", "--bidirectional")
    assert report["counters"]["rx_duplicates"] > 0, report["counters"]


def test_reordering():
    faulty("reorder=0.05", "--size", "256K", "--iters", "400", "--op", "write-imm")


def test_ecn_marks():
    """Marked paths are passed over once: the counter, the timeline and the table of the QP show them as SKIP."""
    report = faulty("ecn=0.3", "--size", "256K", "--duration", "1", "--timeline", "20")
    assert report["counters"]["ev_skips"] > 0, report["counters"]
    assert any(row["skip"] > 0 for row in report["timeline"]), report["timeline"]


def test_trimming():
    report = faulty("trim=0.01", "--size", "256K", "--iters", "400", "--bidirectional")
    assert report["counters"]["retransmits"] > 0, report["counters"]
    for losses in report["losses"]:
        assert losses["sent_again"] > 0 and losses["trimmed"] > 0, report["losses"]


def test_delay_on_one_plane():
    faulty("plane=3:delay=300us/500us", "--size", "256K", "--iters", "200")


def test_everything_at_once():
    report = faulty("loss=0.005,dup=0.005,reorder=0.01,corrupt=0.002", "--qps", "4", "--size", "128K", "--iters", "100", "--bidirectional")
    assert report["counters"]["retransmits"] > 0, report["counters"]


def test_latency_under_loss():
    report = succeed(["--test", "lat", "--iters", "500"], {"MRC_FAULT": "seed=3;loss=0.02"})
    assert report["sizes"][0]["latency"]["samples"] == 500


def test_dead_plane():
    """A plane that never works: the transfer goes on over the others, and paths of plane 2 are found to be bad."""
    report = faulty("plane=2:blackhole", "--size", "1M", "--duration", "1")
    assert report["counters"]["ev_assumed_bad"] > 0, report["counters"]


def test_plane_dies_and_returns():
    report = faulty("plane=2:blackhole@1s-2s", "--size", "1M", "--duration", "4", "--timeline", "100")
    rows = report["timeline"]
    assert report["counters"]["ev_assumed_bad"] > 0, report["counters"]
    assert report["counters"]["ev_recovered"] > 0, report["counters"]
    # The rate is measured by the benchmark; here the transfer must continue while the plane is down, on any busy machine.
    for i in range(len(rows) - 20):
        assert sum(r["gbps"] for r in rows[i:i + 20]) > 0, f"the transfer stood still: {rows[i]}"
    last = [r["plane_gbps"][1] for r in rows[-5:]]
    assert max(last) > 0, f"plane 2 is not used after its return: {last}"


def test_all_planes_die_and_return():
    faulty("blackhole@500ms-800ms", "--size", "1M", "--duration", "2")
