"""mrcd's histograms count each request once, whichever process or daemon ends."""
import re
import urllib.request

from daemon import App, Daemon, ctl_json
from limits import LIMIT_S
from wait import until

SERIES = re.compile(r'^mrc_completion_latency_seconds_count{device="mrc0",peer="all"} (\d+)$', re.M)


def counted(port):
    """Requests of all processes; 0 without a series."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT_S) as page:
        found = SERIES.search(page.read().decode())
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
