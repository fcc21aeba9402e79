"""Each fault has the described effect on its packets, and none on others; a mended part works again."""
import json
import signal

from lab import LIMIT_S, Lab, starts, until

ALL = {(plane, t1) for plane in (0, 1) for t1 in (0, 1)}


def broken(two, source="h0", target="h3", count=5):
    """Paths that lose probes, by (plane, T1), with the share that arrives."""
    done = two("trace", "--json", source, target, "all", "-n", count, "--wait", "1000", code=None)
    traces = json.loads(done.stdout)
    assert len(traces) == len(ALL), traces
    found = {}
    for (plane, t1), path in zip(sorted(ALL), traces):
        assert path["reaches_target"] and "elsewhere" not in path, path
        if path["arrived"] != path["sent"]:
            found[(plane, t1)] = path["arrived"] / path["sent"]
    assert done.returncode == (1 if found else 0), done
    return found


def down(*paths):
    return {path: 0 for path in paths}


def test_link():
    with Lab() as two:
        assert broken(two) == {}
        two("fault", "link", "p0-t1-1:t0-0", "down")  # by its upper end
        assert broken(two) == down((0, 1))
        links = {link["lower"]: link for link in two.json("status")["links"]}
        assert links["p0-t0-0:t1-1"]["state"] == "down" and links["p0-t0-0:t1-0"]["state"] == "up"
        assert links["p0-t0-0:t1-1"]["up"]["state"] == "no carrier"
        two("fault", "link", "p0-t0-0:t1-1", "up")
        assert broken(two) == {} and broken(two, "h3", "h0") == {}


def test_link_of_a_host():
    with Lab() as two:
        two("fault", "link", "h0:p1", "down")
        assert broken(two) == down((1, 0), (1, 1))
        # ip reports a lost carrier up to 1 s later.
        until(lambda: "NO-CARRIER" in two.run("h0", "ip", "link", "show", "p1"), "the host sees no lost carrier")
        two("fault", "clear", "p1-t0-0:h0")
        assert broken(two) == {} and broken(two, "h3", "h0") == {}


def test_port_of_a_host():
    with Lab() as two:
        two("fault", "port", "h3:p0", "down")
        assert broken(two) == down((0, 0), (0, 1))
        assert "state DOWN" in two.run("h3", "ip", "link", "show", "p0")
        two("fault", "clear", "p0-t0-1:h3")
        assert broken(two) == {}
        two("fault", "port", "h3:p0", "down")
        two("fault", "port", "h3:p0", "up")
        assert broken(two) == {} and broken(two, "h3", "h0") == {}


def test_switches_and_what_overlaps():
    with Lab() as two:
        two("fault", "switch", "p1-t1-0", "down")
        two("fault", "link", "p1-t0-0:t1-0", "down")
        assert broken(two) == down((1, 0)) and broken(two, "h2", "h1") == down((1, 0))
        two("fault", "switch", "p1-t1-0", "up")
        assert broken(two) == down((1, 0))
        two("fault", "switch", "p0-t0-1", "down")
        assert broken(two) == down((1, 0), (0, 0), (0, 1))
        assert two.json("fault", "list") == {"p1-t0-0:t1-0": {"link": "down"}, "p0-t0-1": {"switch": "down"}}
        two("fault", "clear", "p1-t0-0:t1-0")
        assert two.json("fault", "list") == {"p0-t0-1": {"switch": "down"}}
        assert broken(two) == down((0, 0), (0, 1))
        assert two.json("fault", "clear") == {}
        assert broken(two) == {} and broken(two, "h3", "h0") == {} and broken(two, "h2", "h1") == {}


def test_gray_loss():
    with Lab() as two:
        two("fault", "loss", "p0-t0-0:t1-0", "50%", "--direction", "up")
        found = broken(two, count=400)
        assert list(found) == [(0, 0)] and 0.3 < found[(0, 0)] < 0.7, found
        assert broken(two, "h3", "h0") == {}, "the other direction is whole"
        dropped = {link["lower"]: link["up"]["fault_drops"] for link in two.json("status")["links"]}
        assert dropped["p0-t0-0:t1-0"] > 100 and dropped["p0-t0-0:t1-1"] == 0, dropped
        two("fault", "loss", "p0-t0-0:t1-0", "100%")
        assert broken(two) == down((0, 0)) and broken(two, "h3", "h0") == down((0, 0))
        two("fault", "loss", "p0-t0-0:t1-0", "0")
        assert two.json("fault", "list") == {} and broken(two, count=100) == {}


def test_rate():
    with Lab() as two:
        two("fault", "rate", "p0-t0-0:t1-0", "5M")
        classes = two.run("p0-t0-0", "tc", "class", "show", "dev", "t1-0")
        assert "rate 5Mbit" in classes, classes
        assert broken(two) == {}
        two("fault", "clear")
        classes = two.run("p0-t0-0", "tc", "class", "show", "dev", "t1-0")
        assert "rate 10Gbit" in classes, classes


def test_flap_ends_up_even_when_interrupted():
    with Lab() as two:
        two("fault", "flap", "h0:p0", "--down", "10ms", "--up", "10ms", "-n", "3")
        assert two.json("fault", "list") == {} and broken(two) == {}
        with starts("fault", "--lab", two.name, "flap", "h0:p0", "--down", "100s") as flapping:
            until(lambda: two.json("fault", "list") != {}, "the link does not go down")
            flapping.signal(signal.SIGINT)
            assert flapping.wait(LIMIT_S) == 0
        assert two.json("fault", "list") == {} and broken(two) == {}


def test_an_unknown_target_is_refused_with_the_known_ones():
    """A bad command line, so exit status 2."""
    with Lab() as two:
        for words, text in ((("link", "h9:p0", "down"), "h0..h3"), (("link", "h0:p7", "down"), "p0, p1"),
                            (("link", "h0", "down"), "NODE:PORT"), (("port", "h0:oob", "down"), "management"),
                            (("switch", "h0", "down"), "not a switch"), (("loss", "h0:p0", "120%"), "100%"),
                            (("rate", "h0:p0", "fast"), "such as 100M"), (("flap", "h0:p0", "--up", "1"), "such as 50ms")):
            refused = two("fault", *words, code=2)
            assert text in refused.stderr, refused
        assert two.json("fault", "list") == {}
