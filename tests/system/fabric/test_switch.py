"""mrc-switch in the lab: it forwards as the kernel does, dies and comes back, and does what the kernel cannot."""
import json
import os
import signal
import sys

import built
import files
from lab import LIMIT_S, NAME, Lab, nothing_left, run, tool, until
from process import ended
from test_faults import broken, down

FABRIC = """name: trims
planes: 2
t0: 2
t1: 2
nics_per_t0: 2
nic_link: {rate: 10G, delay: 500ns}
"""
ALL = FABRIC + "lab: {mrc_switch: all}\n"
TIME_EXCEEDED, ECHO_REPLY = 3, 129
BURSTS = os.path.join(os.path.dirname(__file__), "bursts.py")


def need_switch():
    built.path("MRC_SWITCH")


def show(trims):
    """The report of every mrc-switch, by name."""
    done = run([built.path("MRC_SWITCH"), "show", "--lab", trims.name, "--json"])
    return {report["switch"]: report for report in json.loads(done.stdout)}


def received(trims, target, mode, source, address, *words):
    """What the receiver of that traffic reports."""
    with trims.starts(target, sys.executable, "-B", BURSTS, mode, "receive") as server:
        server.out_until("^listening$", LIMIT_S)
        trims.run(source, sys.executable, "-B", BURSTS, mode, "send", address, *words)
        server.wait(LIMIT_S)
    return json.loads(server.out.removeprefix("listening\n"))


def ports_of(report):
    return {port["port"]: port for port in report["ports"]}


def ping(trims, source, address, hop_limit=64):
    return json.loads(trims.run(source, sys.executable, "-B", BURSTS, "ping", "send", address, str(hop_limit)))


def test_forwards_as_the_kernel_does():
    need_switch()
    with Lab(ALL) as trims:
        assert broken(trims) == {} and broken(trims, "h3", "h0") == {}
        trims("trace", "h0", "h1", "all")  # below one T0
        for source, address in (("h0", "fd00:1:1::2"), ("h3", "fd00:2::1"), ("h1", "fd00:1::1")):
            assert ping(trims, source, address) == {"from": address, "type": ECHO_REPLY}
        reports = show(trims)
        assert len(reports) == 8 and all(not r["malformed"] and not r["no_route"] for r in reports.values()), reports
        assert trims.json("status")["mrc_switches"] == {name: "runs" for name in reports}


def test_a_path_through_kernels_and_one_mrc_switch():
    need_switch()
    with Lab(FABRIC + "lab: {mrc_switch: [p0-t1-1]}\n") as trims:
        assert broken(trims) == {}
        assert list(show(trims)) == ["p0-t1-1"]
        before = ports_of(show(trims)["p0-t1-1"])["t0-0"]["rx_packets"]
        trims("trace", "h0", "h3", "0/1", "-n", "7")
        assert ports_of(show(trims)["p0-t1-1"])["t0-0"]["rx_packets"] == before + 7


def test_neighbours_can_be_resolved():
    """The switch answers for its addresses; the lab's own entries are not needed."""
    need_switch()
    with Lab(ALL) as trims:
        trims.run("h0", "ip", "-6", "neigh", "flush", "dev", "p0", "nud", "permanent")
        for address in ("fe80::1%p0", "fd00:1:1::1", "fcbb:bb00:400::"):
            assert ping(trims, "h0", address) == {"from": address.split("%")[0], "type": ECHO_REPLY}


def test_hop_limit_is_counted_and_answered():
    need_switch()
    with Lab(ALL) as trims:
        # The plan sends what is for T0 1 over T1 1, whose uSID is 0x801.
        assert ping(trims, "h0", "fd00:1:1::2", hop_limit=2) == {"from": "fcbb:bb00:801::", "type": TIME_EXCEEDED}
        assert show(trims)["p0-t1-1"]["hop_limit"] >= 1


def test_bursts_of_a_sender_arrive_packet_by_packet():
    """Segmentation offload and checksums are made good before the switch sees them."""
    need_switch()
    with Lab(ALL) as trims:
        for mode in ("udp", "tcp"):
            came = received(trims, "h3", mode, "h0", "fd00:2:1::2")
            assert came == {"right": True}, (mode, came)
        assert all(r["malformed"] == 0 for r in show(trims).values())


def test_trims_marks_and_drops_by_the_queue():
    """A burst into a slow port. Thresholds in bytes, so that every number follows."""
    need_switch()
    with Lab(FABRIC + "switch: {queue: 20000, queue_last_hop: 20000, ecn_min: 5000, ecn_max: 5000, "
             "ecn_last_hop: true, drop_queue: 30000}\nlab: {mrc_switch: t0}\n") as trims:
        with open(files.at("state", trims.name, "h0.yaml"), encoding="utf-8") as settings:
            assert "trimming: true\n" in settings.read(), "hosts are not told that the fabric trims"
        trims("fault", "rate", "p0-t0-0:h1", "2M")
        seen = {name: received(trims, "h1", "marks", "h0", "fd00:1::2", dscp << 2 | 2)
                for name, dscp in (("trimmable", 4), ("other", 0))}
        port = ports_of(show(trims)["p0-t0-0"])["h1"]
        # 100 datagrams of 1000 bytes: 1062 on the line, one there, 18 below 20000 bytes, 28 below 30000.
        whole, cut = (seen["trimmable"].get(kind, {}) for kind in ("whole", "cut"))
        assert whole.keys() <= {"18", "19"} and sum(whole.values()) >= 19, seen
        assert list(cut) == ["66"] and cut["66"] + sum(whole.values()) == 100, seen  # DSCP 16, ECT(0)
        assert port["trimmed"] == cut["66"] and port["max_queue_bytes"] <= 30000, port
        assert "cut" not in seen["other"] and 29 <= sum(seen["other"]["whole"].values()) < 100, seen
        assert port["data_drops"] == 100 - sum(seen["other"]["whole"].values()), (port, seen)
        assert port["marked"] > 10, port


def test_faults_of_ports_and_links():
    need_switch()
    with Lab(ALL) as trims:
        trims("fault", "link", "p0-t0-0:t1-1", "down")
        trims("fault", "port", "p1-t0-1:h3", "down")
        assert broken(trims) == down((0, 1), (1, 0), (1, 1))
        until(lambda: not ports_of(show(trims)["p0-t0-0"])["t1-1"]["up"], "the switch does not see its link go down")
        trims("fault", "clear")
        assert broken(trims) == {} and broken(trims, "h3", "h0") == {}
        trims("fault", "loss", "p0-t0-0:t1-0", "100%", "--direction", "up")
        assert broken(trims) == down((0, 0))
        trims("fault", "rate", "p1-t0-0:t1-0", "5M")
        assert ports_of(show(trims)["p1-t0-0"])["t1-0"]["rate_bps"] == 5e6
        trims("fault", "switch", "p1-t0-0", "down")
        trims("fault", "switch", "p1-t0-0", "up")
        assert ports_of(show(trims)["p1-t0-0"])["t1-0"]["rate_bps"] == 5e6, "forgotten by the new process"
        trims("fault", "clear")
        assert ports_of(show(trims)["p1-t0-0"])["t1-0"]["rate_bps"] == 1e10 and broken(trims) == {}


def test_a_switch_that_goes_down_and_comes_back():
    need_switch()
    with Lab(ALL) as trims:
        pid = show(trims)["p0-t1-0"]["pid"]
        trims("fault", "switch", "p0-t1-0", "down")
        assert ended(pid)
        assert broken(trims) == down((0, 0))
        assert trims.json("status")["mrc_switches"]["p0-t1-0"] == "dead"  # as asked for, so all is as it should be
        trims("fault", "switch", "p0-t1-0", "up")
        assert broken(trims) == {} and show(trims)["p0-t1-0"]["pid"] != pid


def test_a_switch_that_is_killed():
    """Its links stay up, so it is not reported: a silent hole, until it is started again."""
    need_switch()
    with Lab(ALL) as trims:
        os.kill(show(trims)["p1-t1-1"]["pid"], signal.SIGKILL)
        until(lambda: trims.json("status", code=None)["mrc_switches"]["p1-t1-1"] == "dead", "status does not see it")
        assert {link["state"] for link in trims.json("status", code=1)["links"]} == {"up"}
        assert broken(trims) == down((1, 1))
        assert trims.up()["built"] is False
        assert broken(trims) == {} and trims.json("status")["mrc_switches"]["p1-t1-1"] == "runs"


def test_show_refuses_what_is_no_mrc_switch():
    need_switch()
    with Lab(FABRIC + "lab: {mrc_switch: [p0-t1-1]}\n") as trims:
        for node, text in (("nosuch", "there is no node 'nosuch'"), ("h0", "h0 is not an mrc-switch")):
            done = run([built.path("MRC_SWITCH"), "show", node, "--lab", trims.name], code=2)
            assert text in done.stderr, done


def test_a_switch_that_cannot_start_leaves_no_lab():
    need_switch()
    refused = files.write("wrong.yaml", ALL.replace("all", "[p0-t0-7]"))
    done = tool("up", refused, "--lab", NAME, code=2)
    assert "p0-t0-7" in done.stderr and "t0, t1, all" in done.stderr, done
    nothing_left(NAME)
