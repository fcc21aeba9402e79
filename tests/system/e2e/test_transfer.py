"""Clean transfers: operations, sizes, queue pairs, directions, MTUs."""
import re
import signal

from pair import ROW, Pair, succeed, verified


def test_write():
    report = verified(["--size", "1M", "--iters", "256"])
    assert report["sizes"][0]["messages"] >= 256
    assert len(report["planes"]) == 4
    for plane in report["planes"]:
        assert plane["tx_packets"] > 0, f"plane not used: {plane}"


def test_latency_by_duration():
    """By the clock, however fast the rounds are; both kinds of writes."""
    for op in ("write", "write-imm"):
        report = succeed(["--test", "lat", "--op", op, "--duration", "0.5"])
        latency = report["sizes"][0]["latency"]
        assert latency["samples"] > 0 and latency["seconds"] >= 0.5, latency


def test_mtu_of_the_device():
    """Without --mtu packets are as large as the device has them, not larger."""
    assert verified(["--size", "64K", "--iters", "50"], {"MRC_MTU": "1024"})["mtu"] == 1024
    assert verified(["--size", "64K", "--iters", "50"], {"MRC_MTU": "1024"}, server_env={"MRC_MTU": "512"})["mtu"] == 512
    assert verified(["--size", "64K", "--iters", "50", "--mtu", "256"])["mtu"] == 256


def test_write_imm():
    report = verified(["--op", "write-imm", "--size", "64K", "--iters", "2000"])
    assert report["sizes"][0]["messages"] >= 2000


def test_write_imm_without_verification():
    report = succeed(["--op", "write-imm", "--size", "4K", "--iters", "5000"])
    assert report["sizes"][0]["mismatches"] == 0


def test_odd_sizes():
    report = verified(["--sizes", "1,7,63,255,257,4095,4097,65537,1000003", "--iters", "32"])
    assert [s["size"] for s in report["sizes"]] == [1, 7, 63, 255, 257, 4095, 4097, 65537, 1000003]


def test_size_sweep():
    report = verified(["--sizes", "4K-64M", "--iters", "8"])
    assert [s["size"] for s in report["sizes"]] == [4096 << (2 * i) for i in range(8)]


def test_zero_length_write_imm():
    report = succeed(["--op", "write-imm", "--size", "0", "--iters", "1000"])
    assert report["sizes"][0]["messages"] >= 1000


def test_eight_queue_pairs():
    report = verified(["--qps", "8", "--size", "256K", "--iters", "64"])
    assert report["sizes"][0]["messages"] >= 8 * 64


def test_threads():
    """Threads with queue pairs of their own, over one engine and over one for each."""
    for shards in ("1", "2"):
        report = verified(["--qps", "4", "--threads", "2", "--size", "256K", "--iters", "64"], {"MRC_SHARDS": shards})
        assert report["sizes"][0]["messages"] >= 4 * 64


def test_shards_of_one_side():
    """A peer needs to know nothing of shards."""
    report = verified(["--bidirectional", "--qps", "5", "--size", "64K", "--iters", "100"], {"MRC_SHARDS": "3"},
                      server_env={"MRC_SHARDS": "1"})
    assert report["sizes"][0]["messages"] >= 5 * 100


def test_many_queue_pairs():
    verified(["--qps", "256", "--size", "16K", "--iters", "8"])


def test_bidirectional():
    report = verified(["--bidirectional", "--qps", "2", "--size", "256K", "--iters", "200"])
    both = report["sizes"][0]["gbps_by_direction"]
    assert both["client_to_server"] > 0 and both["server_to_client"] > 0


def test_bidirectional_write_imm():
    verified(["--bidirectional", "--op", "write-imm", "--size", "64K", "--iters", "500"])


def test_each_mtu():
    for mtu in ("256", "512", "1024", "2048", "4096", "8192"):
        # 8192 is an extension, which a device allows by its own MTU.
        env = {"MRC_MTU": mtu} if mtu == "8192" else None
        verified(["--mtu", mtu, "--size", "100000", "--iters", "64"], env)


def test_inline():
    succeed(["--test", "rate", "--size", "64", "--inline", "64", "--iters", "20000"])


def test_one_in_flight():
    verified(["--depth", "1", "--signal-every", "1", "--size", "5000", "--iters", "200"])


def test_signal_rarely():
    succeed(["--depth", "128", "--signal-every", "64", "--size", "4K", "--iters", "4096"])


def test_sleepy_server():
    succeed(["--sleepy-server", "--size", "256K", "--iters", "200"])


def test_latency():
    for op in ("write", "write-imm"):
        latency = succeed(["--test", "lat", "--op", op, "--iters", "2000"])["sizes"][0]["latency"]
        assert latency["samples"] == 2000
        assert 0 < latency["min_us"] <= latency["p50_us"] <= latency["p99_us"] <= latency["p999_us"] <= latency["max_us"]


def test_latency_round_robin():
    succeed(["--test", "lat", "--qps", "3", "--size", "100", "--iters", "1500"])


def test_timeline():
    pair = Pair(["--duration", "1", "--timeline", "100"])
    assert pair.finish() == (0, 0), pair
    report = pair.report()
    rows = report["timeline"]
    assert len(rows) >= 3
    assert all(a["t"] < b["t"] for a, b in zip(rows, rows[1:]))
    assert all(len(r["plane_gbps"]) == 4 for r in rows)
    assert sum(r["good"] for r in rows) > 0, "no state of any EV was read"


def test_printed_lines_may_be_fewer_than_the_rows_of_the_report():
    pair = Pair(["--duration", "1", "--timeline", "20", "--timeline-lines", "200"])
    assert pair.finish() == (0, 0), pair
    printed = re.findall(ROW, pair.client.err, re.MULTILINE)
    assert 1 <= len(printed) < len(pair.report()["timeline"]), pair


def test_interrupted():
    """Ctrl-C ends the client's transfer well, in both directions and for all sizes; what was sent is whole and counted."""
    for more in ((), ("--bidirectional", "--sizes", "64K,1M")):
        pair = Pair(["--verify", "--duration", "60", "--timeline", "100", *more])
        pair.until_data_flows()
        pair.client.signal(signal.SIGINT)
        assert pair.finish() == (0, 0), pair
        report = pair.report()
        assert report["ok"] and len(report["sizes"]) == (2 if more else 1), report["sizes"]
        for size in report["sizes"]:
            assert size["checked"] == size["messages"] > 0 and size["mismatches"] == 0, size


def test_several_pairs_at_once():
    """Six processes share the device: QP numbers lead to the right one."""
    pairs = [Pair(["--verify", "--size", "128K", "--iters", "200", "--seed", str(seed)]) for seed in (1, 2, 3)]
    for pair in pairs:
        assert pair.finish() == (0, 0), pair
        assert pair.report()["sizes"][0]["mismatches"] == 0
