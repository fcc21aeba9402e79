"""The monitor on a fabric of namespaces: it names what is broken, denies it, and takes that back."""
import json
import sys
import time

from browser import Page
from daemon import App
from lab import HTTP, TOKEN, Watched
from wait import until

FETCH = """import sys, urllib.error, urllib.request
from limits import LIMIT_S
url, body, token = sys.argv[1:]
headers = {"Authorization": "Bearer " + token} if token else {}
try:
    answer = urllib.request.urlopen(urllib.request.Request(url, body.encode() or None, headers), timeout=LIMIT_S)
except urllib.error.HTTPError as refused:
    answer = refused
print(answer.status, answer.read().decode())
"""


def test_a_dead_t1_is_named_denied_and_taken_back():
    """[MRC-MON-1] [MRC-MON-3] [MRC-MON-4] [MRC-MON-5] [MRC-MON-7] Both T0s tell that they lose it, so it is the T1."""
    with Watched() as fabric:
        until(lambda: len(fabric.json(1, "show", "monitor")["peers"]) == 1, "the other monitor says nothing")
        monitor, denies = fabric.json(1, "show", "monitor", code=None), fabric.denies(1)
        assert monitor["findings"] == [] and denies == [], (denies, monitor)
        fabric.forget(1, "f102")
        until(lambda: fabric.faults(1) == ["plane 1: T1 f102"], "the T1 is not named")
        until(lambda: fabric.denies(1) == [(1, "f102")] and fabric.denies(2) == [(1, "f102")], "it is not denied")
        fabric.learn(1, "f102")
        until(lambda: fabric.faults(1) == [] and fabric.denies(1) == [], "it is not taken back")
        what = [e["what"] for e in map(json.loads, fabric.ctl(1, "--json", "events").stdout.splitlines())]
        assert "fault" in what and "healed" in what and "deny" in what and "allow" in what, what


def test_round_trips_take_some_time():
    """[MRC-MON-4] [MRC-MON-8] Also on a host that has nothing else to do, where answers are there within a tick."""
    with Watched(hosts=(1,)) as fabric:
        def paths():
            return [p for plane in fabric.json(1, "show", "monitor")["planes"] for p in plane["paths"]]
        until(lambda: all(p["sent"] > p["lost"] for p in paths()), "no probe comes back")
        assert all(0 < p["rtt_us"] < 250e3 for p in paths()), paths()
        page = fabric.run(1, sys.executable, "-c", FETCH, f"http://{HTTP}/metrics", "", "")
        seconds = [float(line.split()[-1]) for line in page.splitlines() if line.startswith("mrcd_path_rtt_seconds{")]
        assert len(seconds) == len(paths()) and min(seconds) > 0, seconds


def test_a_gray_link_is_found_in_seconds():
    """[MRC-MON-1] [MRC-MON-3] [MRC-MON-5] One in twenty packets from T0 e202 to T1 f203 is lost. Host 1, whose own loops
    over the T1 are good, is notified, and avoids the path down there."""
    with Watched() as fabric:
        until(lambda: len(fabric.json(1, "show", "monitor")["peers"]) == 1, "the other monitor says nothing")
        fabric.gray(2, "f203", 5, host=2)
        begin = time.monotonic()
        until(lambda: fabric.denies(2) == [(2, "f203")], "host 2 does not deny it")
        print(f"named and denied after {time.monotonic() - begin:.1f} s")
        assert fabric.faults(2) == ["plane 2: link between T0 e202 and T1 f203"], fabric.faults(2)
        until(lambda: fabric.denies(1) == [(2, "f203:e202")], "host 1 does not deny the way down")
        fabric.clear(2)
        until(lambda: fabric.faults(2) == [] and fabric.denies(2) == [] and fabric.denies(1) == [], "it stays")


def test_applications_leave_what_the_monitor_denies():
    """[MRC-MRCD-6] [MRC-MON-5] Of the paths to host 2 those over the T1 are DENIED, and only those; host 2's T0 has
    another way for each."""
    with Watched(hosts=(1,)) as fabric, \
            App(fabric.lab.inside(1), fabric.environment(1)) as app:
        assert app("reach", fabric.lab.address(1, 2)) == "0"
        fabric.gray(1, "f103", 20)
        until(lambda: fabric.denies(1) == [(1, "f103")], "the T1 is not denied")

        def denied():
            processes = fabric.json(1, "show", "evs")["processes"]  # none: too busy to report in time
            peers = [p for process in processes for p in process["peers"] if fabric.lab.address(1, 2) in p["addresses"]]
            return [(ev["port"], ev["ev"] >> 16) for ev in peers[0]["evs"] if ev["state"] == "DENIED"] if peers else None
        # Entry n of a plane has flow label n + 1 and takes T1 n modulo 4.
        until(lambda: denied() == [(1, 3), (1, 7), (1, 11), (1, 15)], lambda: f"denied are {denied()}")
        fabric.clear(1)
        until(lambda: denied() == [], "they are not taken back")


def test_denies_of_a_monitor_that_was_killed_end():
    """[MRC-MRCD-1] No component would lift them; administrators' rules stay."""
    with Watched(hosts=(1,)) as fabric, \
            App(fabric.lab.inside(1), fabric.environment(1)) as app:
        assert app("reach", fabric.lab.address(1, 2)) == "0"
        fabric.ctl(1, "ev", "deny", "--plane", 2, "--ev", "0x0001")
        fabric.gray(1, "f103", 20)
        until(lambda: app("denied") == "5", "the T1 is not denied: four of its paths and that of people")
        fabric.daemons[1].kill()
        until(lambda: app("denied") == "1", "what the monitor has denied stays")


def test_metrics_health_and_token():
    """[MRC-MON-8]"""
    with Watched(hosts=(1,)) as fabric:
        def ask(path, body=None, token=None):
            return fabric.run(1, sys.executable, "-c", FETCH, f"http://{HTTP}{path}", body or "", token or "")
        health = ask("/healthz")
        assert health.startswith("200 ") and '"monitor":true' in health, health
        metrics = ask("/metrics")
        assert 'mrcd_path_bad{plane="1",t0="e101",t1="f104"} 0' in metrics, metrics
        with App(fabric.lab.inside(1), fabric.environment(1)) as app:
            assert "mrc_qps{" in ask("/metrics") and "pid=" not in ask("/metrics")
            assert f'pid="{app.process.pid}"' in ask("/metrics", token=TOKEN)
            assert '"reports":[]' in ask("/api/state") and '"program"' in ask("/api/state", token=TOKEN)
        rule = '{"rule": {"plane": 1, "via": "f101"}}'
        assert ask("/api/deny", rule).startswith("401 ") and fabric.denies(1) == []
        assert ask("/api/deny", rule, "wrong").startswith("401 ")
        assert ask("/api/deny", rule, TOKEN).startswith("200 ") and fabric.denies(1) == [(1, "f101")]
        assert ask("/api/deny", rule, TOKEN).startswith("409 ")
        assert ask("/api/deny", "nonsense", TOKEN).startswith("400 ")
        assert ask("/etc/passwd").startswith("404 ")
        assert ask("/api/deny").startswith("405 ") and ask("/", "x").startswith("405 ")
        assert ask("/api/allow", rule, TOKEN).startswith("200 ") and fabric.denies(1) == []


def test_the_page_shows_the_map_and_its_buttons_work():
    """[MRC-MON-8] In a real browser: links change colour, a deny is made by form and taken back by button."""
    with Watched(hosts=(1,)) as fabric, Page(f"http://{HTTP}/", fabric.lab.inside(1)) as page:
        def link(plane, name):
            return page.js(f"""(document.querySelector('svg[data-plane="{plane}"] [data-link="{name}"]') ||
                               {{getAttribute: () => 'none'}}).getAttribute('class')""")
        until(lambda: link(1, "e101:f102") == "link good" and link(2, "e201:f204") == "link good", "no map")
        assert link(1, "host:e101") == "link good" and page.js("document.getElementById('status').className") == "good"
        assert page.js("document.getElementById('status').textContent") == "no faults"
        assert page.js("[0, 1, 2].map(faultsText).join()") == "no faults,1 fault,2 faults"
        rates = page.js("[0, 999, 1000, 12345678, 999600000, 4e13].map(rateText).join()")
        assert rates == "0 b/s,999 b/s,1 kb/s,12.3 Mb/s,1 Gb/s,40 Tb/s", rates
        fabric.forget(1, "f102")
        until(lambda: page.js("document.getElementById('faults').textContent").startswith("plane 1: "), "no fault")
        assert page.js("document.getElementById('status').className") == "bad"
        until(lambda: link(1, "e101:f102") == "link denied", "the link does not change its colour")
        fabric.learn(1, "f102")
        until(lambda: link(1, "e101:f102") == "link good", "the link stays denied")

        page.js(f"""document.getElementById('token').value = '{TOKEN}';
                    document.getElementById('plane').value = '2';
                    document.getElementById('via').value = 'f201';
                    document.getElementById('deny').click()""")
        until(lambda: (2, "f201") in fabric.denies(1), "the form denies nothing")
        row = "document.querySelector('[data-deny=\"plane 2, via f201\"]')"
        until(lambda: page.js(f"{row} !== null") and link(2, "e201:f201") == "link denied", "the page does not show it")
        page.js(f"{row}.querySelector('button').click()")
        until(lambda: fabric.denies(1) == [], "the button allows nothing")
        until(lambda: "web page" in page.js("document.getElementById('events').textContent"), "no events")
