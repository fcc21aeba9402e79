"""Parts of the fabric die and come back under one transfer whose every byte is compared: it goes on, loses nothing, and uses
again what has come back. Bounds are for a machine that is five times slower than any that is meant; `tools/bench --parts
fabric` measures how soon.
"""
from bench import FABRIC, GBPS, POLL_S, UNTIL_FINISHED, Lab, Transfer

from judge import between
from limits import limit

SETTLE_S = limit(30)  # until a change must have been answered


def eventually(transfer, words, condition):
    """Waits until the rows of the last POLL_S, seen together, satisfy it."""
    def now(rows):
        last = rows[-1].at if rows else 0
        return condition(between(rows, last - POLL_S, last))

    transfer.run_until(words, now, SETTLE_S)


def mean(rows, value):
    return sum(map(value, rows)) / max(1, len(rows))


def flows(rows):
    return mean(rows, lambda r: r.gbps) > 0.05 * GBPS


def plane_carries(plane):
    return lambda rows: mean(rows, lambda r: r.per_plane[plane]) > 0.05 * GBPS


def plane_is_left(plane):
    return lambda rows: flows(rows) and mean(rows, lambda r: r.per_plane[plane]) < 0.1 * mean(rows, lambda r: sum(r.per_plane))


def no_path_is_bad(rows):
    return bool(rows) and all(r.evs["bad"] == 0 for r in rows)


def some_paths_are_bad(rows):
    return bool(rows) and all(r.evs["bad"] > 0 for r in rows)


def down_and_up(datapath, fault, seen, mended, more_seen=(), env=None):
    with Lab(FABRIC) as two, Transfer(two, UNTIL_FINISHED, datapath, env=env) as transfer:
        transfer.run_for(0.5)
        two("fault", *fault, "down")
        eventually(transfer, "the dead part is left", seen)
        for words, condition in more_seen:
            eventually(transfer, words, condition)
        two("fault", *fault, "up")
        for words, condition in mended:
            eventually(transfer, words, condition)
        transfer.finish()


ALL_BACK = (("both planes carry data again", lambda rows: plane_carries(0)(rows) and plane_carries(1)(rows)),
            ("no path is bad any more", no_path_is_bad))


def test_t1_over_sockets():
    down_and_up("udp", ("switch", "p0-t1-0"), some_paths_are_bad, ALL_BACK, [("plane 0 goes on over its other T1", plane_carries(0))])


def test_t1_with_frames_of_our_own():
    down_and_up("raw", ("switch", "p0-t1-0"), some_paths_are_bad, ALL_BACK, [("plane 0 goes on over its other T1", plane_carries(0))])


def test_t1_encapsulated_by_the_kernel():
    """[MRC-SR-26]"""
    down_and_up("udp", ("switch", "p0-t1-0"), some_paths_are_bad, ALL_BACK, [("plane 0 goes on over its other T1", plane_carries(0))],
                {"MRC_SRV6_ENCAP": "kernel"})


def test_port_of_the_sender_that_encapsulates():
    """Its routes leave with the port and return with it."""
    down_and_up("udp", ("port", "h0:p0"), plane_is_left(0), ALL_BACK, env={"MRC_SRV6_ENCAP": "kernel"})


def test_t0_over_sockets():
    down_and_up("udp", ("switch", "p1-t0-1"), plane_is_left(1), ALL_BACK)


def test_t0_with_frames_of_our_own():
    down_and_up("raw", ("switch", "p1-t0-1"), plane_is_left(1), ALL_BACK)


def test_port_of_the_sender():
    down_and_up("udp", ("port", "h0:p0"), plane_is_left(0), ALL_BACK)


def test_port_of_the_receiver():
    """The receiver reports by port status update that its port is down, so the sender leaves the plane [MRC-PORT-1..2]."""
    down_and_up("udp", ("port", "h3:p1"), plane_is_left(1), ALL_BACK)


def test_flapping_link():
    with Lab(FABRIC) as two, Transfer(two, UNTIL_FINISHED) as transfer:
        transfer.run_for(0.3)
        two("fault", "flap", "p0-t0-0:t1-1", "--down", "60ms", "--up", "140ms", "-n", "10")
        for words, condition in ALL_BACK:
            eventually(transfer, words, condition)
        transfer.finish()


def test_gray_link():
    """Silent loss of one packet in twenty: repaired, and never an error."""
    with Lab(FABRIC) as two, Transfer(two, UNTIL_FINISHED) as transfer:
        two("fault", "loss", "p0-t0-0:t1-0", "5%")

        def dropped():
            return {link["lower"]: link["up"]["fault_drops"] for link in two.json("status")["links"]}["p0-t0-0:t1-0"]

        transfer.run_until("packets are lost and sent again", lambda rows: sum(row.retransmits for row in rows) > 0 and dropped() > 0)
        eventually(transfer, "data goes on", flows)
        report = transfer.finish()
        assert report["counters"]["retransmits"] > 0, report["counters"]


def test_everything_at_once():
    """A plane gone, half of the other gray and flapping: one good path is left."""
    with Lab(FABRIC) as two, Transfer(two, UNTIL_FINISHED) as transfer:
        two("fault", "switch", "p1-t0-0", "down")
        two("fault", "loss", "p0-t1-0:t0-1", "20%")
        two("fault", "flap", "p0-t0-0:t1-0", "--down", "50ms", "--up", "100ms", "-n", "6")
        eventually(transfer, "data goes on", flows)
        two("fault", "clear")
        for words, condition in ALL_BACK:
            eventually(transfer, words, condition)
        transfer.finish()
