"""All targets of one run of tools/bench in one table, which says of which revision and machine it is."""
import os
import subprocess

# The parts that have the targets of speed and memory.
PARTS = ("bandwidth", "latency", "shards", "drivers", "locks", "idle", "srv6", "nccl")
ONCE = ("idle", "locks", "srv6", "fabric", "preflight", "nccl", "applications")  # parts that no place is for


def revision():
    """Of this tree, with "-dirty" if it was changed since; empty where there is no repository."""
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def machine():
    """What a figure depends on, beside the revision. `load`: of the minute before."""
    return {"revision": revision(), "cpus": os.cpu_count(), "kernel": os.uname().release, "load": round(os.getloadavg()[0], 1)}


def all_rows(result):
    """(where, row) of everything that was measured."""
    for part in ONCE:
        for row in result.get(part, {}).get("ratios", ()):
            yield part, row
    for place, measured in result["places"].items():
        for name, group in measured["groups"].items():
            for row in group["ratios"]:
                yield f"{place}, {name}", row
        for row in measured["ratios"]:
            yield place, row


def left_out(result):
    """{part, piece of a part or place: why it could not be measured}"""
    parts = {part: result[part] for part in ONCE if part in result}
    whole = {part: measured["error"] for part, measured in parts.items() if "error" in measured}
    pieces = {f"{part}, {piece}": why for part, measured in parts.items() for piece, why in measured.get("left_out", {}).items()}
    return {**whole, **pieces, **result.get("left_out", {})}


def failed(result):
    """Whether a target is missed, or something was left out: what it would have shown is not known."""
    return any(row["met"] is False for _, row in all_rows(result)) or bool(left_out(result))


def spread(row):
    if "interval" in row:
        return "[{:.3f}, {:.3f}]".format(*row["interval"])
    return f"{row['least']:.2f} to {row['most']:.2f}" if "least" in row else ""


def line(where, row):
    title = row["ratio"] if not row["ratio"].startswith(" ") else f"{row['ratio'].strip()}, {' / '.join(row['of'])}"
    value = "not measured" if row["value"] is None else f"{row['value']:.3f} {spread(row)}".rstrip()
    return f"| {where} | {title} | {value} | {row['target']} | {'met' if row['met'] else 'missed'} |"


def cell(text):
    """What a program printed, as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(result):
    """Lines of Markdown; none where nothing has a target. What was left out says why."""
    rows = [line(where, row) for where, row in all_rows(result) if row["target"] is not None]
    rows += [f"| {what} | all | not measured: {cell(why)} | | |" for what, why in left_out(result).items()]
    if not rows:
        return []
    return [f"targets at {result['revision'] or 'an unknown revision'}: {result['cpus']} processors, Linux {result['kernel']}, load "
            f"{result['load']} at the start, {result['slices']} slices of {result['slice_ms']} ms, {result['rounds']} rounds", "",
            "| where | what | figure [95 %] or least to most | target | |", "|---|---|---|---|---|", *rows]
