"""MRC_TRACE and mrclog: what two processes over real sockets did and why, and the tool that reads it."""
import json
import os

import built
import files
from pair import Pair, succeed
from process import run


def traced(args, env=None, name="%p.sqlog"):
    """A run with traces of both sides; returns the client's report and (client's file, server's file)."""
    folder = files.at("traces")
    os.makedirs(folder, exist_ok=True)
    sides = [dict(env or {}, MRC_TRACE=os.path.join(folder, f"{side}-{name}")) for side in ("client", "server")]
    report = succeed(args, sides[0], server_env=sides[1])
    traces = sorted(os.path.join(folder, n) for n in os.listdir(folder))
    assert len(traces) == 2, traces
    return report, traces


def mrclog(*args, code=0):
    return run([built.path("MRCLOG"), *args], code=code).stdout


def test_records():
    """RFC 7464 and the header of spec/trace.md, without the help of mrclog; settings that differ are named."""
    _, traces = traced(["--size", "64K", "--iters", "50"], {"MRC_EV_COUNT": "16"})
    for path in traces:
        with open(path, "rb") as source:
            records = source.read().split(b"\x1e")
        assert records[0] == b"" and all(r.endswith(b"\n") for r in records[1:])
        header, *events = [json.loads(r) for r in records[1:]]
        assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential", header
        assert header["trace"]["mrc_settings"]["ev_count"] == "16", header
        assert len(events) > 100 and all(e["name"].startswith("mrc:") and e["time"] > 0 for e in events)


def test_counts_are_those_of_the_run():
    report, (client, server) = traced(["--size", "64K", "--iters", "300"], {"MRC_FAULT": "seed=3;loss=0.02", "MRC_TIMEOUT": "16"})
    counts = json.loads(mrclog("summary", "--json", client))
    assert counts["events_lost"] == 0 and counts["damaged_records"] == 0, counts
    why = counts["counts"]["packet_retransmitted"]
    assert "-" not in why and sum(why.values()) == report["counters"]["retransmits"], (why, report["counters"])
    assert sum(counts["counts"]["packet_sent"].values()) + sum(why.values()) == report["counters"]["tx_data"], counts
    assert {p["plane"] for p in counts["paths"]} == {0, 1, 2, 3}, counts["paths"]
    received = json.loads(mrclog("summary", "--json", server))["counts"]["packet_received"]
    assert sum(received.values()) == sum(counts["counts"]["packet_sent"].values()), received


def test_filters_and_one_packet():
    _, (client, _) = traced(["--size", "64K", "--iters", "200"], {"MRC_FAULT": "seed=3;loss=0.05"})
    lines = [json.loads(line) for line in mrclog("print", "--json", "--event", "packet_retransmitted", client).splitlines()]
    assert lines and all(e["name"] == "mrc:packet_retransmitted" for e in lines)
    psn = str(lines[0]["data"]["psn"])
    life = [json.loads(line)["name"] for line in mrclog("print", "--json", "--psn", psn, client).splitlines()]
    assert life.index("mrc:packet_sent") < life.index("mrc:packet_retransmitted"), life
    assert "because: " in mrclog("print", "--psn", psn, client)
    for option, field, value in (("--plane", "plane", 2), ("--qp", "qpn", lines[0]["data"]["qpn"])):
        shown = [json.loads(line)["data"] for line in mrclog("print", "--json", option, str(value), client).splitlines()]
        assert shown and all(d.get(field, value) == value - (option == "--plane") or field not in d for d in shown), shown[:3]
    assert not mrclog("print", "--to", "0", "--event", "work_completed", client)
    assert "no event passes" in refusal("print", "--to", "0", "--event", "work_completed", client, code=0)


def refusal(*args, code=2):
    done = run([built.path("MRCLOG"), *args], code=code)
    assert not done.stdout, done
    return done.stderr


def write_trace(name, *events):
    records = [{"file_schema": "urn:ietf:params:qlog:file:sequential"},
               *({"time": time, "name": "mrc:packet_sent", "data": data} for time, data in enumerate(events))]
    return write_records(name, records)


def write_records(name, records):
    return files.write(name, "".join(f"\x1e{json.dumps(record)}\n" for record in records))


def test_an_ev_as_mrcctl_prints_it():
    """Label and port, or one of them; in files it is one number."""
    labels = write_trace("labels.sqlog", *({"qpn": 1, "psn": psn, "ev": ev, "plane": 0}
                                           for psn, ev in enumerate((0x1de6a, 0x1de6b, 0x2de6a))))
    ports = write_trace("ports.sqlog", *({"qpn": 1, "psn": psn, "ev": ev, "plane": 0} for psn, ev in enumerate((1, 56938))))
    for path, ev, expected in ((labels, "0x0001:56938", [0]), (labels, "0x0001", [0, 1]), (labels, "0x0002:0", [2]),
                               (labels, "0x0001de6a", [0]), (labels, "122474", [0]), (labels, "0x0001:1", []),
                               (ports, "56938", [1]), (ports, "0x0001", [0])):
        lines = mrclog("print", "--json", "--ev", ev, path).splitlines()
        assert [json.loads(line)["data"]["psn"] for line in lines] == expected, (ev, lines)
    for path, texts in ((labels, ("0x0001:56938", "0x0002:56938")), (ports, ("56938",))):
        assert all(f" ev={text} " in mrclog("print", path) for text in texts), mrclog("print", path)
        assert all(text in mrclog("summary", path).split() for text in texts), mrclog("summary", path)
    for wrong in ("0", "0x0000", "0x0001:", ":5", "0x0001:x", "0x10000:1", "0x0001:65536", "-1", "0x100000000"):
        assert "is no EV: 49152, 0x0003 or 0x0003:49152" in refusal("print", "--ev=" + wrong, labels), wrong


def test_filters_that_nothing_can_pass_are_refused():
    path = write_trace("few.sqlog", {"qpn": 1, "psn": 0, "ev": 1, "plane": 0}, {"qpn": 1, "psn": 1, "ev": 2, "plane": 2})
    assert "did you mean 'packet_sent'?" in refusal("print", "--event", "packet_received,paket_sent", path)
    assert "did you mean 'others_full'?" in refusal("summary", "--why", "other_full", path)
    assert "no event is of plane 2; there are planes 1, 3" in refusal("print", "--plane", "2", path)
    assert "no event is of plane 7" in refusal("summary", "--plane", "7", path)
    assert "later than --to" in refusal("print", "--from", "5", "--to", "3", path)
    assert len(mrclog("print", "--from", "1", "--to", "1", "--event", "packet_sent,events_lost", path).splitlines()) == 1


def test_compare_and_plot():
    _, (client, server) = traced(["--size", "64K", "--iters", "100"], {"MRC_FAULT": "plane=2:blackhole"})
    assert "same decisions" in mrclog("compare", client, client)
    apart = json.loads(mrclog("compare", "--json", client, server, code=1))
    assert apart["same"] is False and apart["parts_at"]["first"] != apart["parts_at"]["second"], apart["parts_at"]
    picture = files.at("run.svg")
    mrclog("plot", client, picture)
    with open(picture, encoding="utf-8") as source:
        text = source.read()
    for words in ("plane 1", "congestion window", "overtaken", "assumed_bad", "</svg>"):
        assert words in text or words == "overtaken" and "timeout" in text, words


def test_planes_with_the_same_port_are_two_paths():
    """Of a SACK, which names the EV alone, the plane is then unknown."""
    records = [{"file_schema": "urn:ietf:params:qlog:file:sequential"}]
    for time, (ev, plane, count) in enumerate(((7, 0, 2), (7, 1, 3), (8, 1, 1))):
        records += [{"time": time, "name": "mrc:packet_sent", "data": {"qpn": 1, "psn": 0, "ev": ev, "plane": plane}}] * count
        records.append({"time": time, "name": "mrc:sack_received", "data": {"qpn": 1, "cack": 0, "ev": ev}})
    path = write_records("planes.sqlog", records)
    paths = json.loads(mrclog("summary", "--json", path))["paths"]
    assert [(p["plane"], p["ev"], p["sent"]) for p in paths] == [(0, 7, 2), (1, 7, 3), (1, 8, 1)], paths
    for plane, sent, sacks in (("1", 2, 0), ("2", 4, 1)):
        names = [json.loads(line)["name"] for line in mrclog("print", "--json", "--plane", plane, path).splitlines()]
        assert (names.count("mrc:packet_sent"), names.count("mrc:sack_received")) == (sent, sacks), names


def test_a_file_that_is_no_trace_is_refused():
    other = files.write("other", "hello\n")
    mrclog("print", other, code=2)
    mrclog("print", other + ".missing", code=2)
    mrclog("frobnicate", code=2)
    both = Pair(["--size", "64K", "--iters", "5"], {"MRC_TRACE": "/nonexistent/x"})
    assert 0 not in both.finish(), both.client
    assert "/nonexistent/x" in both.client.err + both.client.out, both.client


def test_a_cut_trace_is_read_up_to_the_cut():
    _, (client, _) = traced(["--size", "64K", "--iters", "20"])
    with open(client, "rb") as source:
        data = source.read()
    with open(client, "wb") as out:
        out.write(data[:-20])
    assert json.loads(mrclog("summary", "--json", client))["damaged_records"] == 1
    assert all(t in mrclog("events") for t in ("ev_chosen", "others_skipped", "cwnd_updated", "rtt_ns"))
