"""Rows of `mrc-perf --timeline` in longer intervals: rows of 10 ms show a dip, rows of 100 ms are for people and pictures.

usage: merge_rows.py N REPORT.json PICTURE.json (N rows become one)
"""
import json
import statistics
import sys

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


def main():
    count = int(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as text:
        report = json.load(text)
    report["timeline"] = merge(report["timeline"], count)
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        json.dump(report, out)


if __name__ == "__main__":
    main()
