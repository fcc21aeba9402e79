"""Medians, ratios against the targets, and how they are printed. A ratio is the median of the ratios within each round;
its minimum and maximum are given with it, and of_medians in the JSON is the ratio of the two medians."""
import statistics

# name, numerator, denominator (None: the figure itself counts), relation, bound; keys as main.py makes them.
TARGETS = [
    ("bandwidth of one QP / raw limit", "bandwidth.mrc.gbps", "bandwidth.limit.gbps", ">=", 0.75),
    ("bandwidth of one QP / one TCP stream", "bandwidth.mrc.gbps", "bandwidth.tcp.gbps", ">=", 1.2),
    ("half round trip of 2 B / raw ping-pong", "latency.mrc.p50_us", "latency.limit.p50_us", "<=", 1.5),
    ("goodput with 0.1 % loss / lossless", "loss 0.1 %.mrc.gbps", "loss 0 %.mrc.gbps", ">=", 0.95),
    ("goodput with 1 % loss / lossless", "loss 1 %.mrc.gbps", "loss 0 %.mrc.gbps", ">=", 0.8),
    ("ring all-reduce over 4 ranks / plain TCP plugin", "ring all-reduce, 4 ranks.mrc memory.gbps",
     "ring all-reduce, 4 ranks.tcp plugin.gbps", ">=", 1.2),
    ("ring all-reduce with 0.1 % loss / lossless", "ring all-reduce, 4 ranks, loss 0.1 %.mrc memory.gbps",
     "ring all-reduce, 4 ranks.mrc memory.gbps", ">=", 0.9),
    ("the same over sockets", "ring all-reduce, 4 ranks, loss 0.1 %.mrc.gbps", "ring all-reduce, 4 ranks.mrc.gbps", ">=", 0.9),
    ("a plane dies: ms below 0.9 of the other planes' share", "a plane dies and returns.mrc.below_ms", None, "<=", 100),
    ("a plane returns: ms until it is used", "a plane dies and returns.mrc.back_ms", None, "<=", 1000),
]


def medians(runs):
    """runs: list of (measurement, program, result). Returns {measurement: {program: {...}}}: the median of every figure,
    the runs themselves under 'runs', or 'error' when no run succeeded."""
    table = {}
    for measurement, name, result in runs:
        table.setdefault(measurement, {}).setdefault(name, []).append(result)
    for programs in table.values():
        for name, results in programs.items():
            good = [r for r in results if "error" not in r]
            merged = {"runs": results}
            if not good:
                merged["error"] = results[0]["error"]
            else:
                for key in good[0]:
                    values = [r[key] for r in good if r.get(key) is not None]
                    if values:
                        merged[key] = statistics.median(values)
                if len(good) < len(results):
                    merged["failed_runs"] = len(results) - len(good)
            programs[name] = merged
    return table


def lookup(table, path):
    measurement, name, key = path.rsplit(".", 2)
    return table.get(measurement, {}).get(name, {}).get(key)


def of_rounds(table, top, bottom):
    """The ratio within each round that has both figures. Other load of the machine changes between rounds, and much less
    between neighbours of one round: the median of these ratios is steadier than the ratio of two medians."""
    (above, key), (below, other) = runs_of(table, top), runs_of(table, bottom)
    return [a[key] / b[other] for a, b in zip(above, below) if a.get(key) is not None and b.get(other)]


def runs_of(table, path):
    measurement, name, key = path.rsplit(".", 2)
    return table.get(measurement, {}).get(name, {}).get("runs", []), key


def ratios(table):
    rows = []
    for title, top, bottom, relation, bound in TARGETS:
        if bottom is None:
            value, rounds = lookup(table, top), []
        else:
            rounds = of_rounds(table, top, bottom)
            value = statistics.median(rounds) if rounds else None
        if value is None:
            tried = top.rsplit(".", 2)[0] in table
            rows.append({"ratio": title, "value": None, "target": f"{relation} {bound}", "met": False if tried else None})
            continue
        met = value >= bound if relation == ">=" else value <= bound
        rows.append({"ratio": title, "value": round(value, 3), "target": f"{relation} {bound}", "met": met})
        if rounds:
            rows[-1].update(least=round(min(rounds), 3), most=round(max(rounds), 3),
                            of_medians=round(lookup(table, top) / lookup(table, bottom), 3))
    return rows


UNITS = (("gbps", "Gb/s", 2), ("rate", "/s", 0), ("p50_us", "us p50", 2), ("p99_us", "us p99", 2), ("p999_us", "us p99.9", 2), ("mean_us", "us mean", 2), ("cpu_s_per_gb", "CPU s/GB", 3),
         ("dead_gbps", "Gb/s with a dead plane", 2), ("below_ms", "ms below", 0), ("back_ms", "ms until it is back", 0))


def figure(result):
    if "error" in result:
        return "- (" + result["error"].replace("\n", " ")[:100] + ")"
    parts = [f"{result[key]:,.{digits}f} {unit}" for key, unit, digits in UNITS if result.get(key) is not None]
    if result.get("failed_runs"):
        parts.append(f"[{result['failed_runs']} runs failed]")
    return "  ".join(parts)


def print_place(name, table):
    print(f"\n{name}")
    for measurement, programs in table.items():
        print(f"  {measurement}")
        for program, result in programs.items():
            print(f"    {program:<14} {figure(result)}")
    print_ratios(ratios(table))


def print_ratios(rows):
    print("  ratios")
    for row in rows:
        value = "not measured" if row["value"] is None else f"{row['value']:.3f}"
        if "least" in row:
            value = f"{row['least']:.2f} .. {row['most']:.2f}  {value}"
        verdict = "" if row["met"] is None else ("   met" if row["met"] else "   MISSED")
        print(f"    {row['ratio']:<55} {value:>22}   target {row['target']}{verdict}")
