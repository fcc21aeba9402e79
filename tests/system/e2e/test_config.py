"""Configuration files: other planes, IPv4, ports, settings by environment, and what is refused."""
from pair import Pair, config, verified


def planes_of(addresses, more=""):
    planes = "".join(f"      - {{address: {a}}}\n" for a in addresses)
    return f"devices:\n  - name: mrc0\n    planes:\n{planes}{more}"


def refused_config(text, words, env=None):
    """Both sides refuse to start with a sentence that holds the words."""
    pair = Pair([], {**config(text), **(env or {})})
    assert pair.finish() == (1, 1), pair
    for word in words:
        assert word in pair.client.err, f"'{word}' is missing in: {pair.client}"


def test_ipv4():
    report = verified(["--size", "256K", "--iters", "200"], config(planes_of(["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"])))
    assert len(report["planes"]) == 4 and all(p["tx_packets"] > 0 for p in report["planes"])


def test_one_plane():
    report = verified(["--size", "256K", "--iters", "100"], config(planes_of(["127.0.0.1"])))
    assert len(report["planes"]) == 1


def test_eight_planes():
    report = verified(["--size", "256K", "--iters", "200"], config(planes_of([f"127.0.1.{i}" for i in range(1, 9)])))
    assert len(report["planes"]) == 8 and all(p["tx_packets"] > 0 for p in report["planes"])


def test_two_devices():
    text = planes_of(["127.0.0.1", "127.0.0.2"]) + "  - name: other\n    planes:\n      - {address: 127.0.2.1, port: 4971}\n"
    report = verified(["--device", "other", "--size", "64K", "--iters", "100"], config(text), server_args=["--device", "other"])
    assert report["device"] == "other" and len(report["planes"]) == 1


def test_few_evs_by_environment():
    report = verified(["--size", "256K", "--iters", "100"], {"MRC_EV_COUNT": "8"})
    assert len([ev for ev in report["evs"] if ev["active"]]) <= 8


def test_missing_file():
    pair = Pair([], {"MRC_CONFIG": "/nonexistent/mrc.yaml"})
    assert pair.finish() == (1, 1), pair
    assert "/nonexistent/mrc.yaml" in pair.client.err, pair.client


def test_refusals():
    good = planes_of(["127.0.0.1"])
    refused_config("ev_cuont: 4\n" + good, ["mrc.yaml:1", "ev_cuont", "ev_count"])
    refused_config("ev_count: 0\n" + good, ["mrc.yaml:1", "ev_count", "'0'", "1..1024"])
    refused_config(planes_of(["here"]), ["mrc.yaml:4", "address", "here"])
    refused_config("devices: [\n", ["mrc.yaml:"])
    refused_config(good, ["MRC_EV_COUNT", "many", "1..1024"], {"MRC_EV_COUNT": "many"})


def test_a_refusal_is_said_once():
    """By the library, so that the program does not repeat it; with MRC_LOG=off by the program."""
    for level, lines in (("error", 1), ("off", 0)):
        pair = Pair([], {"MRC_EV_COUNT": "many", "MRC_LOG": level})
        assert pair.finish() == (1, 1), pair
        assert sum(line.startswith("mrc: ") for line in pair.client.err.split("\n")) == lines, pair.client
        assert pair.client.err.count("'many'") == 1 and "refused" in pair.client.err, pair.client


def test_mistyped_variable():
    """Once in the log; the transfer continues."""
    for level, lines in (("error", 1), ("off", 0)):
        pair = Pair(["--iters", "8"], {"MRC_EVCOUNT": "8", "MRC_SWARM_SEEDS": "1", "MRC_LOG": level})
        assert pair.finish() == (0, 0), pair
        assert pair.client.err.count("nothing reads MRC_EVCOUNT, did you mean MRC_EV_COUNT?") == lines, pair.client
        assert "SWARM" not in pair.client.err, pair.client


def test_fault_on_a_plane_that_is_not_there():
    text = planes_of(["127.0.0.1", "127.0.0.2"])
    refused_config(text, ["MRC_FAULT", "plane=9:loss=1", "concerns plane 9"], {"MRC_FAULT": "plane=9:loss=1"})
    pair = Pair(["--iters", "8"], {**config(text), "MRC_FAULT": "plane=2-9:dup=0.1", "MRC_LOG": "warn"})
    assert pair.finish() == (0, 0), pair
    assert "concerns planes 2-9, and the device has 2" in pair.client.err, pair.client


def test_address_of_another_host():
    refused_config(planes_of(["192.0.2.77"]), ["what to do"])
