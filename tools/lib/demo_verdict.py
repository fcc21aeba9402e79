"""Judges the report of tools/demo: every byte correct, hardly anything sent again without a fault, plane 2 unused while it was
down, used again after its return.

usage: demo_verdict.py REPORT.json DOWN_AT UP_AT (seconds from the first packet)
"""
import json
import statistics
import sys

import machine_load
import merge_rows
import plane_outage

PLANE = 1  # plane 2, counted from zero
SETTLE_UP = 1.0  # seconds within which a recovered plane must be used again
ROW_S = 0.1  # of the rows that are judged
CALM = 1e-4  # a host busy with other work may send so many packets needlessly; an idle one sends none


def rate(rows):
    """Mean Gb/s. A median would be 0 where more than half of the rows end no message."""
    seconds = sum(r["seconds"] for r in rows)
    return sum(r["gbps"] * r["seconds"] for r in rows) / seconds if seconds else 0.0


def below_share_ms(rows, down, up):
    """As plane_outage has it. None: the rows are too long for it."""
    return plane_outage.below_share_ms(rows, PLANE, down, up) if merge_rows.interval(rows) <= 0.02 else None


def judge(report, down, up):
    """The lines with figures, and pairs of a sentence and whether it holds."""
    rows = merge_rows.merge(report["timeline"], max(1, round(ROW_S / merge_rows.interval(report["timeline"]))))
    size = report["sizes"][-1]

    def between(start, end):
        return [r for r in rows if start < r["t"] <= end]

    def share(some):
        total = sum(sum(r["plane_gbps"]) for r in some)
        return sum(r["plane_gbps"][PLANE] for r in some) / total if total else 0.0

    def packets(some):
        return sum(sum(r["plane_gbps"]) * r["seconds"] for r in some) * 1e9 / 8 / report["mtu"]

    before = between(0.3, down)
    calm = between(0, down) + between(up + SETTLE_UP, rows[-1]["t"])
    again = sum(r["retransmits"] for r in calm)
    dead = between(down + 0.3, up)
    after = between(up + SETTLE_UP, rows[-1]["t"] - 0.1)
    gib = size["bytes"] / 2**30
    figures = [
        f"{gib:.1f} GiB written, {size['checked']} messages compared byte for byte, {size['mismatches']} wrong; "
        f"{sum(r['retransmits'] for r in rows)} packets sent again",
        f"Gb/s before {rate(before):.2f}, with plane 2 dead {rate(dead):.2f}, after its return {rate(after):.2f}; "
        f"plane 2 carried {share(before):.0%}, {share(dead):.1%}, {share(after):.0%}",
    ]
    below = below_share_ms(report["timeline"], down, up)
    if below is not None:
        figures.append(f"After the death of plane 2 less than 90 % of the share of the other planes moved for {below} ms")
    checks = [
        ("every byte is right", size["mismatches"] == 0 and size["checked"] > 0),
        (f"hardly anything was sent again without a fault: {again} of {packets(calm):,.0f} packets (at most 1 of {1 / CALM:,.0f})", again <= CALM * packets(calm)),
        ("four planes carried data before the fault", bool(before) and statistics.median(r["planes_in_use"] for r in before) == 4),
        ("the dead plane was left", bool(dead) and share(dead) < 0.02),
        ("the transfer went on without it", rate(dead) > 0),
        (f"the plane was used again within {SETTLE_UP:g} s of its return", bool(after) and share(after) > 0.1),
    ]
    return figures, checks


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        report = json.load(text)
    figures, checks = judge(report, float(sys.argv[2]), float(sys.argv[3]))
    print("", *figures, sep="\n")
    for text, good in checks:
        print(f"  {'yes' if good else 'NO '}  {text}")
    good = all(result for _, result in checks)
    machine_load.print_result(good)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
