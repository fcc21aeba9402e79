"""mrcd's histograms count each request once, whichever process or daemon ends."""
import re
import urllib.request

from daemon import App, Daemon, ctl_json
from limits import LIMIT_S
from wait import until

SERIES = re.compile(r'^mrc_completion_latency_seconds_count{device="mrc0",peer="all"} (\d+)$', re.M)


def page(port, token=""):
    headers = {"Authorization": "Bearer " + token} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return answer.read().decode()


def counted(port):
    """Requests of all processes; 0 without a series."""
    found = SERIES.search(page(port))
    return int(found[1]) if found else 0


def becomes(port, count):
    until(lambda: counted(port) >= count, lambda: f"{counted(port)} requests are counted instead of {count}")
    assert counted(port) == count


def test_the_last_requests_of_a_process_count():
    """[MRC-MON-9] Of one that was never asked for a report, and of one that was asked before them."""
    with Daemon(MRC_MRCD_HTTP="127.0.0.1:9421"):
        with App() as app:
            assert app("qp", 0, 0) == "0" and app("write", 7) == "0"
            app.end()
        becomes(9421, 7)
        with App() as app:
            assert app("qp", 0, 0) == "0" and app("write", 3) == "0"
            becomes(9421, 10)
            assert app("write", 2) == "0"
            app.end()
        becomes(9421, 12)


def test_the_next_daemon_does_not_count_what_the_last_one_has():
    """[MRC-MON-9]"""
    with App() as app:
        with Daemon(MRC_MRCD_HTTP="127.0.0.1:9422"):
            assert app("qp", 0, 0) == "0" and app("write", 7) == "0"
            becomes(9422, 7)
        with Daemon(MRC_MRCD_HTTP="127.0.0.1:9422"):
            until(lambda: ctl_json("show", "qps")["processes"], "the application does not find the new daemon")
            assert counted(9422) == 0
            assert app("write", 2) == "0"
            becomes(9422, 2)


def peers_in(text):
    return re.findall(r'^mrc_retransmission_delay_seconds_count{device="mrc0",peer="([^"]*)"}', text, re.M)


class Histogram:
    """One of mrc0 and a peer in a page of metrics: the ends of its buckets in seconds, their cumulative counts, count and sum."""

    def __init__(self, text, name, peer):
        labels = re.escape(f'device="mrc0",peer="{peer}"')
        buckets = re.findall(rf'^{name}_bucket{{{labels},le="([^"]+)"}} (\d+)$', text, re.M)
        self.ends, self.cumulative = [float(end) for end, _ in buckets], [int(count) for _, count in buckets]
        (count,), (total,) = (re.findall(rf"^{name}_{what}{{{labels}}} (\S+)$", text, re.M) for what in ("count", "sum"))
        self.count, self.sum = int(count), float(total)

    def check(self):
        """The buckets rise to the count, and samples that lie in them can have the sum."""
        assert len(self.ends) > 2 and self.ends == sorted(set(self.ends)) and self.ends[-1] == float("inf"), vars(self)
        assert self.cumulative == sorted(self.cumulative) and self.cumulative[-1] == self.count, vars(self)
        starts, before = [0, *self.ends], [0, *self.cumulative]
        counts = [count - below for count, below in zip(self.cumulative, before)]
        least, most = (sum(end * count for end, count in zip(ends, counts) if count > 0) for ends in (starts, self.ends))
        assert least <= self.sum <= most, vars(self)


def test_a_peer_has_the_delays_of_packets_that_were_lost():
    """[MRC-MON-9] [MRC-LAT-2] A write is one packet: it has at most one delay, which is a part of its latency."""
    writes = 200
    with Daemon(MRC_MRCD_HTTP="127.0.0.1:9423", MRC_MRCD_TOKEN="open-sesame"), App(MRC_FAULT="seed=7;loss=0.1") as app:
        assert app("qp", 0, 0) == "0" and app("write", writes) == "0"
        app.end()
        becomes(9423, writes)
        text, public = page(9423, "open-sesame"), page(9423)
    (peer,) = peers_in(text)
    assert peer in ("::1", "127.0.0.1") and peers_in(public) == ["all"], (peer, public)
    latency, delay = (Histogram(text, name, peer) for name in ("mrc_completion_latency_seconds", "mrc_retransmission_delay_seconds"))
    latency.check()
    delay.check()
    assert latency.count == writes and 0 < delay.count <= writes and 0 < delay.sum <= latency.sum, (vars(latency), vars(delay))
    assert vars(Histogram(public, "mrc_retransmission_delay_seconds", "all")) == vars(delay), public
