#!/usr/bin/env python3
"""Runs every reproduction in sim/examples and writes sim/RESULTS.md from the results, beside the published figures.

usage: make_results.py --sim build/dev/sim/mrc-sim [--out DIR] [--reuse] [--only REGEX]

--reuse takes points that lie in DIR already. Every number on the page comes from what the runs wrote; nothing is typed in but the
published figures. Exit status 1 when a check of a scenario fails.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def load(folder):
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as source:
        data = json.load(source)
    for number, point in enumerate(data["points"]):
        point["folder"] = os.path.join(folder, "points", f"{number:03}")
    return data


def find(points, **where):
    """Points whose parameters end in the given names and have the given values."""
    def fits(point):
        return all(any(k.split(".")[-1] == name and v == str(value) for k, v in point["point"].items()) for name, value in where.items())
    return [p for p in points if fits(p)]


def values(points, path):
    out = []
    for point in points:
        value = point
        for part in path.split("."):
            value = value[part]
        out.append(value)
    return out


def median_of(points, path):
    return statistics.median(values(points, path))


def spread(numbers, form="{:.0f}", unit=""):
    """The median of the seeds, and their range where it shows."""
    low, middle, high = (form.format(f(numbers)) for f in (min, statistics.median, max))
    return f"{middle}{unit}" + ("" if low == high else f" ({low} to {high})")


def percent(ratios):
    return spread([100 * r for r in ratios], "{:.1f}", " %")


def ratios(points, top, bottom):
    """Of each run for itself."""
    return [a / b for a, b in zip(values(points, top), values(points, bottom))]


def case_text(case):
    return f", {case}" if case else ""


def by_case(points):
    """The points of each case in the order of the file; one list without a name where there are no cases."""
    cases = dict.fromkeys(p["point"].get("cases", "") for p in points)
    return [(case, [p for p in points if p["point"].get("cases", "") == case]) for case in cases]


def window_rows(during, published):
    return lambda pts: [(published[0] + case_text(case), published[1], percent(ratios(here, f"windows.{during}.gbps", "windows.before.gbps")), here)
                        for case, here in by_case(pts)]


def t1_rows(pts):
    rows = [row for window, when in (("around", "in the millisecond around the failure"), ("during", "while the T1 is down"))
            for row in window_rows(window, (f"bandwidth {when}", "no loss"))(pts)]
    full = median_of(find(pts, cases="twice as many uplinks as ports"), "windows.before.gbps")
    here = find(pts, cases="one-to-one")
    links = here[0]["fabric"]["planes"] * here[0]["fabric"]["t1"]
    rows.append((f"while it is down, one-to-one: share of what {links - 1} of {links} links carry", "-",
                 percent([rate / full * links / (links - 1) for rate in values(here, "windows.during.gbps")]), here))
    return rows


def decay_rows(pts):
    return [(f"bandwidth at {share} loss on one of eight ports", "needs an external mapper",
             percent(ratios(find(pts, loss_to=share), "windows.end.gbps", "windows.before.gbps")), find(pts, loss_to=share)) for share in ("10%", "50%")]


def possible_shares(point, down):
    """With that many T0-T1 links of the rack down, as they went: a plane carries what its links left or its ports carry."""
    with open(os.path.join(point["folder"], "faults.csv"), encoding="utf-8") as source:
        planes = [int(plane) for plane in re.findall(r"down plane (\d+) T0 0-T1", source.read())][:down]
    return sum(min(4, 8 - planes.count(plane)) for plane in range(4)) / 16


def step_rows(pts):
    rows = []
    for window, count in (("ten", 10), ("twelve", 12), ("fifteen", 15), ("end", 20)):
        here, possible = ratios(pts, f"windows.{window}.gbps", "windows.before.gbps"), [possible_shares(p, count) for p in pts]
        rows.append((f"bandwidth of the rack with {count} of its 32 links down", "falls in steps, then stable",
                     f"{percent(here)}; the links left allow {percent(possible)}, and {percent([a / b for a, b in zip(here, possible)])} of that is reached", pts))
    return rows


def flap_rows(pts):
    rows = window_rows("flapping", ("bandwidth while links flap", "no measurable impact"))(pts)
    for case, here in by_case(pts):
        lost = [QPS * lost_per_qp(p, DATA) / p["faults"]["flap"]["times"] for p in here]
        rows.append((f"data packets lost per flap, by the {QPS} QPs together{case_text(case)}", "-", spread(lost), here))
    return rows


def incast_rows(pts):
    rows = []
    published = {"MRC": "no impact", "DCQCN": "-25 %", "DCQCN 8 QPs": "dips of -75 %", "PFC": "30-100 of 400 Gb/s"}
    solo = median_of(find(pts, cases="MRC"), "windows.solo.receivers_gbps.victim")
    for senders in (7, 15):
        for case, here in by_case(find(pts, senders=senders)):
            beside = values(here, "windows.beside.receivers_gbps.victim")
            rows.append((f"victim beside {senders}:1, {case}", published.get(case, "-") if senders == 7 else "-",
                         f"{spread(beside)} Gb/s, {100 * statistics.median(beside) / solo:.1f} % of MRC's solo rate", here))
    return rows


RING = {"0": "MRC 1 QP beats RoCE 16; RoCE 1 QP about half", "0.001": "RoCE degrades; MRC: large messages little, small ones show its time of recovery",
        "0.01": "RoCE unusable, MRC about a third"}
ALL_TO_ALL = {"0": "MRC ahead at all sizes", "0.001": "large messages hardly degrade, small ones do very poorly; SACK helps greatly", "0.01": "-"}


def rate_text(here, full):
    """Payload per NIC, and its share of `full`."""
    rates = [p["jobs"]["main"].get("gbps_per_sender", 0) for p in here]
    late = sum(not p["finished"] for p in here)
    return (f"{spread(rates)} Gb/s, {100 * statistics.median(rates) / full:.1f} %" +
            (f", {late} of {len(here)} runs not finished" if late else ""))


def loss_rows(title, published):
    def rows(pts):
        full = median_of(find(pts, cases="MRC", loss="0"), "jobs.main.gbps_per_sender")
        return [(f"{title}, loss {float(loss):.1%}, {case}", published[loss] if case == "MRC" else "-", rate_text(here, full), here)
                for loss in ("0", "0.001", "0.01") for case, here in by_case(find(pts, loss=loss))]
    return rows


def size_rows(pts):
    rows = []
    for size in dict.fromkeys(p["point"]["workloads.0.bytes"] for p in pts):
        full = median_of(find(pts, cases="MRC", bytes=size), "jobs.main.gbps_per_sender")
        rows += [(f"{int(size) // 1000} KB per pair, {case}", ALL_TO_ALL["0"] if case == "MRC" else "-", rate_text(here, full), here)
                 for case, here in by_case(find(pts, bytes=size))]
    return rows


def slow_link_rows(pts):
    rows = []
    for case, here in by_case(pts):
        slow, even = (values(find(here, run=run), "jobs.main.duration_us") for run in ("faulty", "healthy"))
        rows.append((f"messages of 32 MB, {case}", "none found",
                     f"{spread(slow)} us, {spread([100 * (a / b - 1) for a, b in zip(slow, even)], '{:.1f}', ' %')} above the run without slow links", here))
    return rows


DATA = ("tx_data", ("rx_data", "rx_trimmed"))
ANSWERS = (("tx_sacks", ("rx_sacks",)), ("tx_acks", ("rx_acks",)))
PROBES = ("tx_ev_probes", ("rx_ev_probes",))


QPS = 16  # of scenarios 5 and 9


def lost_per_qp(point, *pairs):
    """Packets sent less those that arrived, by the names of the counters."""
    c = point["counters"]
    return sum(c.get(sent, 0) - sum(c.get(name, 0) for name in arrived) for sent, arrived in pairs) / QPS


def start_rows(pts):
    rows = []
    for case, mine in by_case(pts):
        for share in dict.fromkeys(p["point"]["faults.0.sample"] for p in mine):
            here = find(mine, sample=share)
            lost = [spread([lost_per_qp(p, *pairs) for p in here], "{:.1f}") for pairs in ((DATA,), ANSWERS, (PROBES,))]
            rows.append((f"{share} of T0-T1 links dead{case_text(case)}", "fewer than 5 lost per QP in the first minute",
                         f"first 500 us {spread(values(here, 'windows.first.gbps'))} Gb/s, from 2 ms on {spread(values(here, 'windows.late.gbps'))} Gb/s; lost per QP: "
                         f"{lost[0]} data packets, {lost[1]} answers, {lost[2]} probes", here))
    return rows


def ev_rows(pts):
    rows = []
    for count in (1, 4, 16, 64, 128, 256, 512):
        tails = [f"{spread(values(find(pts, count=count, cases=case), 'jobs.main.fct_us.max'))} us {case}" for case in ("active", "oblivious")]
        rows.append((f"{count} EVs", "gains diminish beyond about 100" if count == 128 else "-", "tail " + ", ".join(tails), find(pts, count=count)))
    return rows


def switch_rows(pts, algorithms, counted):
    """A row per traffic, trimming and algorithm; with the medians of the counters in `counted`."""
    rows = []
    for traffic in dict.fromkeys(p["point"]["cases.traffic"] for p in pts):
        for trimming in ("true", "false"):
            for algorithm in algorithms:
                here = find(pts, traffic=traffic, trimming=trimming, **({"congestion": algorithm} if algorithm else {}))
                rows.append((f"{traffic}, trimming {'on' if trimming == 'true' else 'off'}{case_text(algorithm)}", "none found",
                             f"tail {spread(values(here, 'jobs.main.fct_us.max'))} us, p50 {spread(values(here, 'jobs.main.fct_us.p50'))} us, " +
                             ", ".join(form.format(median_of(here, path)) for form, path in counted), here))
    return rows


QUEUES = [("{:.0f} trimmed", "network.trimmed"), ("{:.0f} dropped", "network.queue_drops")]


def trim_rows(pts):
    return switch_rows(pts, [""], QUEUES)


def congestion_rows(pts):
    return switch_rows(pts, ["nscc", "swift", "none"], [("Jain {:.3f}", "jobs.main.jain"), *QUEUES, ("{:.0f} timeouts", "counters.timeouts")])


def scale_rows(pts):
    return [(f"{racks * 32} NICs, {case}", "92 % at 42,020 GPUs", percent(values(find(here, t0=racks), "windows.steady.share_of_peak")), find(here, t0=racks))
            for case, here in by_case(pts) for racks in (2, 4, 16)]


def over_before(*windows):
    return ", ".join(f"`windows.{w}.gbps`" for w in windows) + " over `windows.before.gbps` of the same run"


JOB_RATE = "`jobs.main.gbps_per_sender`, and its share of MRC's median without loss"
LOSS_PLOT = ["loss-jobs.main.gbps_per_sender.svg"]

# Scenario -> (rows, what they are by the names of summary.json, plots: files of the output directory).
SECTIONS = {
    "01_t0_down": (window_rows("during", ("bandwidth while one of eight T0s is down", "falls by its share, 87.5 % remain")), over_before("during"), ["picture.svg"]),
    "02_t1_down": (t1_rows, over_before("around", "during") + "; full links are the median of the first case", ["picture.svg"]),
    "03_nic_port": (window_rows("during", ("bandwidth while one of eight ports is down", "7/8 = 87.5 %")), over_before("during"), ["picture.svg"]),
    "04_twenty_links": (step_rows, over_before("ten", "twelve", "fifteen", "end"), ["picture.svg"]),
    "05_link_flaps": (flap_rows, over_before("flapping") + "; `counters.tx_data` less `rx_data` and `rx_trimmed`, over `faults.flap.times`", ["picture.svg"]),
    "06_send_recv": (scale_rows, "`windows.steady.share_of_peak`", []),
    "07_incast_victim": (incast_rows, "`windows.beside.receivers_gbps.victim`, and its share of MRC's median of `windows.solo.receivers_gbps.victim`", ["picture.svg"]),
    "08_loss": (loss_rows("ring all-reduce of 32 MB", RING), JOB_RATE, LOSS_PLOT),
    "09_cold_start": (start_rows, "`windows.first.gbps`, `windows.late.gbps`; `counters`: packets sent less those received, by 16 QPs", ["picture.svg"]),
    "10_ev_count": (ev_rows, "`jobs.main.fct_us.max`", ["count-jobs.main.fct_us.max.svg"]),
    "11_trimming": (trim_rows, "`jobs.main.fct_us`; medians of `network.trimmed` and `network.queue_drops`", []),
    "12_slow_decay": (decay_rows, over_before("end"), ["picture.svg"]),
    "13_congestion": (congestion_rows, "`jobs.main.fct_us`; medians of `jobs.main.jain`, `network` and `counters.timeouts`", []),
    "14_large_ring": (loss_rows("ring all-reduce of 256 MB", RING), JOB_RATE, LOSS_PLOT),
    "15_all_to_all_loss": (loss_rows("all-to-all of 250 KB", ALL_TO_ALL), JOB_RATE, LOSS_PLOT),
    "16_all_to_all": (size_rows, "`jobs.main.gbps_per_sender`, and its share of MRC's median at that size", ["bytes-jobs.main.gbps_per_sender.svg"]),
    "17_slow_links": (slow_link_rows, "`jobs.main.duration_us` of `run` faulty, and over that of healthy", ["picture.svg"]),
}

HEAD = """# Reproductions

Written by `sim/make_results.py` from runs of the scenarios in `sim/examples`; version {version}. The hosts are the production engine,
the network is modelled, times are simulated and mostly scaled down (a second of the publication is a fraction of a millisecond
here), and the machines of the publications are not ours: compare ratios and shapes, not absolute numbers. Each scenario carries
checks, shown with their worst value over all seeds. Where a figure has a range behind it, it is the median of the seeds, five unless
a section says otherwise, and the range theirs. A percentage of another row's figure is one of that row's median. RoCEv2 has its usual
marking, 1 % at 200 KB, unless a line says otherwise.

The command of a section runs all of it, and that of a row the runs of this row, without those that its percentages refer to;
`build/dev/sim` is in the PATH. Both write
`summary.json`, whose names for the figures stand below the section's command.
"""


def command(name, points=(), here=()):
    """The one that runs `here` alone: --only for each parameter that has one value in it and more in all `points`."""
    text = f"mrc-sim run sim/examples/{name}.yaml"
    for key in points[0]["point"] if points else ():
        mine, every = ({p["point"].get(key) for p in some} for some in (here, points))
        if key not in ("seed", "run") and len(mine) == 1 < len(every):
            text += f" --only {shlex.quote(key + '=' + mine.pop())}"
    return text


def section(name, folder, results):
    data = load(folder)
    rows, figures, plots = SECTIONS[name]
    with open(os.path.join(HERE, "examples", name + ".yaml"), encoding="utf-8") as source:
        about = re.search(r"^about: >\n((?:  .*\n)+)", source.read(), re.M).group(1)
    out = [f"## {data['scenario']}", " ".join(about.split()), "", f"`{command(name)}`", "", f"Figures: {figures}.", "",
           "| what | published | here | command |", "|---|---|---|---|"]
    out += [f"| {a} | {b} | {c} | `{command(name, data['points'], here)}` |" for a, b, c, here in rows(data["points"])]
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
            begin = time.monotonic()
            status = subprocess.run([options.sim, "run", os.path.join(HERE, "examples", name + ".yaml"), "-o", folder, "-q"]).returncode
            if status > 1:
                sys.exit(f"{name}: mrc-sim ended with {status}")
            print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
        text, version, passed = section(name, folder, os.path.join(HERE, "results"))
        ok = ok and passed
        pages.append(text)
    with open(os.path.join(HERE, "RESULTS.md"), "w", encoding="utf-8") as out:
        out.write(HEAD.format(version=version) + "\n" + "\n".join(pages))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
