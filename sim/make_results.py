#!/usr/bin/env python3
"""Runs every reproduction in sim/examples and writes sim/RESULTS.md from the results, beside the published figures.

usage: make_results.py --sim build/dev/sim/mrc-sim [--out DIR] [--reuse] [--only REGEX]

--reuse takes points that lie in DIR already. Every number on the page is read from a summary.json; nothing is typed in but the
published figures. Exit status 1 when a check of a scenario fails.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load(folder):
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as source:
        return json.load(source)


def find(points, **where):
    """Points whose parameters end in the given names and have the given values."""
    def fits(point):
        return all(any(k.split(".")[-1] == name and v == str(value) for k, v in point["point"].items()) for name, value in where.items())
    return [p for p in points if fits(p)]


def mean(points, path):
    values = []
    for point in points:
        value = point
        for part in path.split("."):
            value = value[part]
        values.append(value)
    return sum(values) / len(values)


def percent(x):
    return f"{100 * x:.1f} %"


def ratio(points, top, bottom):
    return percent(mean(points, top) / mean(points, bottom))


def window_rows(during, published):
    return lambda pts: [(published[0], published[1], ratio(pts, f"windows.{during}.gbps", "windows.before.gbps"))]


def step_rows(pts):
    published = "falls in steps, then stable"
    return [(f"bandwidth of the rack with {count} of its 32 links down", published, ratio(pts, f"windows.{window}.gbps", "windows.before.gbps"))
            for window, count in (("ten", 10), ("twelve", 12), ("fifteen", 15), ("end", 20))]


def incast_rows(pts):
    rows = []
    published = {"MRC": "no impact", "DCQCN": "-25 %", "DCQCN 8 QPs": "dips of -75 %", "PFC": "30-100 of 400 Gb/s"}
    solo = mean(find(pts, cases="MRC"), "windows.solo.receivers_gbps.victim")
    for senders in (7, 15):
        for case, figure in published.items():
            here = find(pts, cases=case, senders=senders)
            rows.append((f"victim beside {senders}:1, {case}", figure if senders == 7 else "-",
                         f"{mean(here, 'windows.beside.receivers_gbps.victim'):.0f} Gb/s, {percent(mean(here, 'windows.beside.receivers_gbps.victim') / solo)} of MRC's solo rate"))
    return rows


def loss_rows(pts):
    rows = []
    ring = {"0": "MRC 1 QP beats RoCE 16; RoCE 1 QP about half", "0.001": "RoCE degrades; MRC: large messages little, small ones show its time of recovery",
            "0.01": "RoCE unusable, MRC about a third"}
    all_to_all = {"0": "MRC ahead at all sizes", "0.001": "large messages hardly degrade, small ones do very poorly; SACK helps greatly", "0.01": "-"}
    for kind, title, published in (("32MB", "ring all-reduce of 32 MB", ring), ("256MB", "ring all-reduce of 256 MB", ring),
                                   ("all_to_all", "all-to-all", all_to_all)):
        mine = [p for p in pts if kind in p["point"]["workloads.0"]]
        peak = mean(find(mine, cases="MRC", loss="0"), "jobs.main.gbps_per_sender")
        for loss in ("0", "0.001", "0.01"):
            cells = []
            for case in ("MRC", "RoCE 1 QP", "RoCE 2 QPs", "RoCE 4 QPs", "RoCE 8 QPs", "RoCE 16 QPs"):
                here = find(mine, cases=case, loss=loss)[0]
                share = here["jobs"]["main"].get("gbps_per_sender", 0) / peak
                cells.append(f"{case} {percent(share)}" + ("" if here["finished"] else " (not finished)"))
            rows.append((f"{title}, loss {float(loss):.1%}", published[loss], ", ".join(cells)))
    return rows


def start_rows(pts):
    rows = []
    for p in pts:
        share = p["point"]["faults.0.sample"]
        qps = p["jobs"]["main"]["operations"] // 8
        c = {name: p["counters"].get(name, 0) for name in ("tx_data", "rx_data", "rx_trimmed", "tx_sacks", "rx_sacks", "tx_acks", "rx_acks", "tx_ev_probes", "rx_ev_probes")}
        data = c["tx_data"] - c["rx_data"] - c["rx_trimmed"]
        answers = c["tx_sacks"] - c["rx_sacks"] + c["tx_acks"] - c["rx_acks"]
        rows.append((f"{share} of T0-T1 links dead", "fewer than 5 lost per QP in the first minute",
                     f"first 500 us {p['windows']['first']['gbps']:.0f} Gb/s, from 2 ms on {p['windows']['late']['gbps']:.0f} Gb/s; "
                     f"lost per QP: {data / qps:.1f} data packets, {answers / qps:.1f} answers, {(c['tx_ev_probes'] - c['rx_ev_probes']) / qps:.1f} probes"))
    return rows


def ev_rows(pts):
    rows = []
    for count in (1, 4, 16, 64, 128, 256, 512):
        active, oblivious = find(pts, count=count, cases="active"), find(pts, count=count, cases="oblivious")
        rows.append((f"{count} EVs", "gains diminish beyond about 100" if count == 128 else "-",
                     f"tail {mean(active, 'jobs.main.fct_us.max'):.0f} us active, {mean(oblivious, 'jobs.main.fct_us.max'):.0f} us oblivious"))
    return rows


def trim_rows(pts):
    rows = []
    for kind in ("incast", "permutation"):
        for trimming in ("true", "false"):
            here = [p for p in find(pts, trimming=trimming) if kind in p["point"]["workloads.0"]]
            rows.append((f"{kind}, trimming {'on' if trimming == 'true' else 'off'}", "none found",
                         f"tail {mean(here, 'jobs.main.fct_us.max'):.0f} us, p50 {mean(here, 'jobs.main.fct_us.p50'):.0f} us, "
                         f"{mean(here, 'network.trimmed'):.0f} trimmed, {mean(here, 'network.queue_drops'):.0f} dropped"))
    return rows


def congestion_rows(pts):
    rows = []
    for kind, title in (("incast", "31:1 incast"), ("permutation", "permutation"), ("all_to_all", "all-to-all")):
        for trimming in ("true", "false"):
            for algorithm in ("nscc", "swift", "none"):
                here = [p for p in find(pts, trimming=trimming, congestion=algorithm) if kind in p["point"]["workloads.0"]]
                rows.append((f"{title}, trimming {'on' if trimming == 'true' else 'off'}, {algorithm}", "none found",
                             f"tail {mean(here, 'jobs.main.fct_us.max'):.0f} us, p50 {mean(here, 'jobs.main.fct_us.p50'):.0f} us, "
                             f"Jain {mean(here, 'jobs.main.jain'):.3f}, {mean(here, 'network.trimmed'):.0f} trimmed, "
                             f"{mean(here, 'network.queue_drops'):.0f} dropped, {mean(here, 'counters.timeouts'):.0f} timeouts"))
    return rows


def scale_rows(pts):
    return [(f"{p['fabric']['nics']} NICs, {p['point']['cases']}", "92 % at 42,020 GPUs",
             percent(p["windows"]["steady"]["share_of_peak"])) for p in pts]


# Scenario -> (rows, plots: files of the output directory).
SECTIONS = {
    "01_t0_down": (window_rows("during", ("bandwidth while one of eight T0s is down", "falls by its share, 87.5 % remain")), ["points/000/throughput.svg"]),
    "02_t1_down": (window_rows("around", ("bandwidth in the millisecond around the failure", "no loss")), ["points/000/throughput.svg"]),
    "03_nic_port": (window_rows("during", ("bandwidth while one of eight ports is down", "7/8 = 87.5 %")), ["points/000/throughput.svg"]),
    "04_twenty_links": (step_rows, ["points/000/throughput.svg"]),
    "05_link_flaps": (window_rows("flapping", ("bandwidth while links flap", "no measurable impact")), ["points/000/throughput.svg"]),
    "06_send_recv": (scale_rows, []),
    "07_incast_victim": (incast_rows, ["points/000/throughput.svg"]),
    "08_loss": (loss_rows, []),
    "09_cold_start": (start_rows, []),
    "10_ev_count": (ev_rows, ["count-jobs.main.fct_us.max.svg"]),
    "11_trimming": (trim_rows, []),
    "12_slow_decay": (window_rows("end", ("bandwidth at 10 % loss on one of eight ports", "needs an external mapper")), ["points/000/throughput.svg"]),
    "13_congestion": (congestion_rows, []),
}

HEAD = """# Reproductions

Written by `sim/make_results.py` from runs of the scenarios in `sim/examples`; version {version}. The hosts are the production engine,
the network is modelled, times are simulated and mostly scaled down (a second of the publication is a fraction of a millisecond
here), and the machines of the publications are not ours: compare ratios and shapes, not absolute numbers. Each scenario carries
checks, shown with their worst value.
"""


def section(name, folder, results):
    data = load(folder)
    rows, plots = SECTIONS[name]
    with open(os.path.join(HERE, "examples", name + ".yaml"), encoding="utf-8") as source:
        about = re.search(r"^about: >\n((?:  .*\n)+)", source.read(), re.M).group(1)
    out = [f"## {data['scenario']}", " ".join(about.split()), "", f"`mrc-sim run sim/examples/{name}.yaml`", "",
           "| what | published | here |", "|---|---|---|"]
    out += [f"| {a} | {b} | {c} |" for a, b, c in rows(data["points"])]
    if data["checks"]:
        out += ["", "| check | worst value | |", "|---|---|---|"]
        out += ["| {} | {} | {} |".format(c["text"].replace("|", "\\|"), c["why"] or f"{c['value']:.4g}", "holds" if c["passed"] else "**fails**")
                for c in data["checks"]]
    os.makedirs(results, exist_ok=True)
    for number, plot in enumerate(plots):
        target = f"{name}{'' if number == 0 else '-' + str(number)}.svg"
        shutil.copy(os.path.join(folder, plot), os.path.join(results, target))
        out += ["", f"![{data['scenario']}](results/{target})"]
    return "\n".join(out) + "\n", data["version"], all(c["passed"] for c in data["checks"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    with open(os.path.join(HERE, "..", "CMakeLists.txt"), encoding="utf-8") as source:
        version = re.search(r"^project\(mrc VERSION (\S+)", source.read(), re.M).group(1)
    parser.add_argument("--version", action="version", version=f"make_results.py {version}")
    parser.add_argument("--sim", required=True)
    parser.add_argument("--out", default="build/results")
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    pages, ok, version = [], True, ""
    for name in SECTIONS:
        folder = os.path.join(options.out, name)
        done = os.path.exists(os.path.join(folder, "summary.json"))
        if re.search(options.only, name) and not (options.reuse and done):
            print(f"{name} ...", flush=True)
            status = subprocess.run([options.sim, "run", os.path.join(HERE, "examples", name + ".yaml"), "-o", folder, "-q"]).returncode
            if status > 1:
                sys.exit(f"{name}: mrc-sim ended with {status}")
        text, version, passed = section(name, folder, os.path.join(HERE, "results"))
        ok = ok and passed
        pages.append(text)
    with open(os.path.join(HERE, "RESULTS.md"), "w", encoding="utf-8") as out:
        out.write(HEAD.format(version=version) + "\n" + "\n".join(pages))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
