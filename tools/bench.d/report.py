"""How results are printed, and the ratios of what is measured in rounds of whole runs, against their targets. Ratios of slices
are those of paired.py. A ratio of rounds is the median of the ratios within each round; its minimum and maximum are given with
it, and of_medians in the JSON is the ratio of the two medians."""
import statistics

import paired

# name, numerator, denominator (None: the figure itself counts), relation, bound; keys as main.py makes them.
TARGETS = [
    ("goodput with 0.1 % loss / lossless", "loss 0.1 %.mrc.gbps", "loss 0 %.mrc.gbps", ">=", 0.95),
    ("goodput with 1 % loss / lossless", "loss 1 %.mrc.gbps", "loss 0 %.mrc.gbps", ">=", 0.8),
    ("ring all-reduce over 4 ranks / plain TCP plugin", "ring all-reduce, 4 ranks.mrc shared memory.gbps",
     "ring all-reduce, 4 ranks.tcp plugin.gbps", ">=", 1.2),
    ("ring all-reduce with 0.1 % loss / lossless", "ring all-reduce, 4 ranks, loss 0.1 %.mrc shared memory.gbps",
     "ring all-reduce, 4 ranks.mrc shared memory.gbps", ">=", 0.9),
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
    return paired.of_rounds([a.get(key) for a in above], [b.get(other) for b in below])


def runs_of(table, path):
    measurement, name, key = path.rsplit(".", 2)
    return table.get(measurement, {}).get(name, {}).get("runs", []), key


def ratios(table):
    rows = []
    for title, top, bottom, relation, bound in TARGETS:
        if top.rsplit(".", 2)[0] not in table:
            continue
        if bottom is None:
            value, rounds = lookup(table, top), []
        else:
            rounds = of_rounds(table, top, bottom)
            value = statistics.median(rounds) if rounds else None
        row = {"ratio": title, "value": value, "target": f"{relation} {bound}",
               "met": value is not None and paired.meets(value, relation, bound)}
        if rounds:
            row.update(least=min(rounds), most=max(rounds), of_medians=lookup(table, top) / lookup(table, bottom))
        rows.append(row)
    return rows


def ratio_of_rounds(title, rounds):
    """A row without a target."""
    row = {"ratio": title, "value": statistics.median(rounds) if rounds else None, "target": None, "met": None}
    if rounds:
        row.update(least=min(rounds), most=max(rounds))
    return row


UNITS = (("gbps", "Gb/s", 2), ("rate", "/s", 0), ("p50_us", "us p50", 2), ("p99_us", "us p99", 2), ("p999_us", "us p99.9", 2),
         ("cpu_s_per_gb", "CPU s/GB", 3), ("dead_gbps", "Gb/s with a dead plane", 2), ("below_ms", "ms below", 0),
         ("back_ms", "ms until it is back", 0))


def figure(result):
    if "error" in result:
        return "- (" + result["error"].replace("\n", " ")[:100] + ")"
    parts = [f"{result[key]:,.{digits}f} {unit}" for key, unit, digits in UNITS if result.get(key) is not None]
    if result.get("failed_runs"):
        parts.append(f"[{result['failed_runs']} runs failed]")
    return "  ".join(parts)


def print_table(table):
    for measurement, programs in table.items():
        print(f"  {measurement}")
        for program, result in programs.items():
            print(f"    {program:<18} {figure(result)}")


MIN_GBPS = 0.5  # below, messages are so small that their rate counts


def slice_figures(contender):
    """Medians with quartiles: Gb/s or messages per second, and the rest."""
    small = "gbps" in contender and contender["gbps"]["median"] < MIN_GBPS
    parts = [f"{contender[key]['median']:,.{digits}f} ({contender[key]['q1']:,.{digits}f} .. {contender[key]['q3']:,.{digits}f}) {unit}"
             for key, unit, digits in UNITS if key in contender and key != ("gbps" if small else "rate")]
    if "error" in contender:
        parts.append("- (" + contender["error"].replace("\n", " ")[:100] + ")")
    return "   ".join(parts)


def print_group(name, group):
    print(f"  {name}: median (quartiles) of the slices")
    for contender, result in group["contenders"].items():
        print(f"    {contender:<20} {slice_figures(result)}")
    print_ratios(group["ratios"])


def print_ratios(rows):
    for row in rows:
        value = "not measured" if row["value"] is None else f"{row['value']:.3f}"
        spread = ""
        if "interval" in row:
            spread = "[{:.3f}, {:.3f}]".format(*row["interval"])
        elif "least" in row:
            spread = f"{row['least']:.2f} .. {row['most']:.2f}"
        words = row.get("verdict", "")
        if row["target"] is not None:
            words = f"{words:<20}target {row['target']}   {'met' if row['met'] else 'MISSED'}"
        print(f"    {'/ ' + row['ratio']:<57} {value:>12}  {spread:<18} {words}".rstrip())
