"""Rows of `mrc-perf --timeline` in longer intervals: rows of 10 ms show a dip, rows of 100 ms are for people and pictures.

usage: merge_rows.py N < TEXT            (N rows become one; other lines stay)
       merge_rows.py N REPORT.json PICTURE.json
"""
import json
import re
import statistics
import sys

ROW = re.compile(r"^ *(\d+) +([\d.]+) +\d+  ([\d. ]+?) +(\d+)  (\d+/\d+/\d+/\d+)$")
IN_USE_SHARE, IN_USE_GBPS = 0.02, 0.001  # as in tools/mrc-perf/monitor.cc


def planes_in_use(plane_gbps):
    least = max(IN_USE_GBPS, IN_USE_SHARE * statistics.mean(plane_gbps))
    return sum(g > least for g in plane_gbps)


def merged(rows, begin):
    """One row of several that follow each other from `begin` on: means of rates, sums of counts, the last states. A busy machine
    makes rows late, so that their lengths differ."""
    ends = [r["t"] for r in rows]
    lengths = [b - a for a, b in zip([begin, *ends], ends)]

    def mean(values):
        total = sum(lengths)
        return sum(v * s for v, s in zip(values, lengths)) / total if total > 0 else statistics.mean(values)

    plane_gbps = [mean(each) for each in zip(*(r["plane_gbps"] for r in rows))]
    return {**rows[-1], "seconds": sum(lengths), "gbps": mean([r["gbps"] for r in rows]), "plane_gbps": plane_gbps,
            "planes_in_use": planes_in_use(plane_gbps), "retransmits": sum(r["retransmits"] for r in rows)}


def merge(rows, count):
    return [merged(rows[i:i + count], rows[i - 1]["t"] if i else 0.0) for i in range(0, len(rows), count)]


def interval(rows):
    """Seconds between rows."""
    return statistics.median(b["t"] - a["t"] for a, b in zip([{"t": 0.0}, *rows], rows))


def row_text(r):
    planes = "".join(f"{g:5.2f} " for g in r["plane_gbps"])
    return f"{r['t'] * 1000:8.0f} {r['gbps']:8.2f} {r['planes_in_use']:7d}  {planes:<24} {r['retransmits']:7d}  {r['evs']}"


def filter_text(lines, count, out):
    """Writes each row as soon as the last line of it has come."""
    waiting, begin = [], 0.0

    def flush():
        nonlocal begin
        if waiting:
            print(row_text(merged(waiting, begin)), file=out, flush=True)
            begin = waiting[-1]["t"]
            waiting.clear()

    for line in lines:
        match = ROW.match(line.rstrip("\n"))
        if match is None:
            flush()
            print(line, end="", file=out, flush=True)
            continue
        ms, gbps, planes, again, evs = match.groups()
        waiting.append({"t": int(ms) / 1000, "gbps": float(gbps), "plane_gbps": [float(g) for g in planes.split()],
                        "retransmits": int(again), "evs": evs})
        if len(waiting) == count:
            flush()
    flush()


def main():
    count = int(sys.argv[1])
    if len(sys.argv) == 2:
        filter_text(sys.stdin, count, sys.stdout)
        return
    with open(sys.argv[2], encoding="utf-8") as text:
        report = json.load(text)
    report["timeline"] = merge(report["timeline"], count)
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        json.dump(report, out)


if __name__ == "__main__":
    main()
