"""mrc-perf --transport ud: datagram queue pairs, their data, their losses and the limit of their size [API-UD-1..4]."""
from pair import Pair, refused, succeed

UD = ["--transport", "ud"]


def transferred(args, env=None, **more):
    """Every datagram that arrived was compared and right, and the others are counted. Returns the entry of each size."""
    report = succeed([*UD, "--verify", *args], env, **more)
    assert (report["transport"], report["op"]) == ("ud", "send"), report
    for size in report["sizes"]:
        assert size["mismatches"] == 0 and size["checked"] == size["messages"] > 0, size
        assert size["messages"] + size["lost"] == size["sent"], size
    return report["sizes"]


def rounds(args, env=None):
    report = succeed([*UD, "--test", "lat", *args], env)
    latency = report["sizes"][0]["latency"]
    assert latency["samples"] > 0 and 0 < latency["p50_us"] <= latency["p99_us"], latency
    return latency


def test_data():
    sizes = transferred(["--sizes", "1,64,1000,1024", "--iters", "2000"])
    assert [size["size"] for size in sizes] == [1, 64, 1000, 1024], sizes
    assert all(size["sent"] >= 2000 for size in sizes), sizes


def test_both_directions_and_queue_pairs():
    transferred(["--qps", "5", "--bidirectional", "--size", "512", "--iters", "500"])


def test_largest_datagram():
    """The default size of the bandwidth test is the path MTU."""
    (size,) = transferred(["--duration", "0.2"], {"MRC_MTU": "2048"})
    assert size["size"] == 2048, size


def test_rate():
    report = succeed([*UD, "--test", "rate", "--duration", "0.2"])
    assert report["sizes"][0]["message_rate"] > 0 and report["counters"]["tx_datagrams"] > 0, report


def test_latency():
    for args in (["--iters", "500"], ["--duration", "0.2", "--size", "0"], ["--iters", "200", "--qps", "3", "--size", "1K"]):
        rounds(args)


def test_losses_are_counted():
    env = {"MRC_FAULT": "seed=5;loss=0.1"}
    (size,) = transferred(["--size", "1K", "--iters", "2000"], env)
    assert size["lost"] > 0, size


def test_ping_pong_over_losses():
    """It goes on: requests and answers are lost, and asked for again."""
    latency = rounds(["--iters", "100"], {"MRC_FAULT": "seed=5;loss=0.05"})
    assert latency["lost"] > 0 and 0 < latency["repeated"] < 110, latency
    assert latency["sent"] > latency["received"] > 100, latency


def test_more_than_a_datagram():
    words = ["a datagram of 4096 bytes is larger than the path MTU of this device, 1024 bytes", "--size of at most 1024"]
    refused(["localhost", *UD, "--size", "4K"], {"MRC_MTU": "1024"}, words, code=2)
    refused(["localhost", *UD, "--sizes", "64,4K", "--test", "lat"], {"MRC_MTU": "1024"}, words, code=2)


def test_more_than_a_datagram_of_the_other_side():
    pair = Pair([*UD, "--sizes", "64,2K"], {"MRC_MTU": "2048"}, server_env={"MRC_MTU": "512"})
    assert pair.finish() == (2, 1), pair
    assert "larger than the path MTU of the other side, 512 bytes" in pair.client.err, pair


def test_options_without_a_meaning():
    for given, name in ((["--op", "write"], "--op other than send"), (["--threads", "2", "--qps", "2"], "--threads"),
                        (["--mtu", "1024"], "--mtu"), (["--timeout", "10"], "--timeout"), (["--retry", "1,1"], "--retry"),
                        (["--timeline", "100"], "--timeline"), (["--sleepy-server"], "--sleepy-server")):
        text = refused(["localhost", *UD, *given], code=2, words=["does not go with --transport ud"])
        assert name in text, text
    refused(["localhost", "--op", "send"], code=2, words=["--op send needs --transport ud"])
