"""Alternating slices: the contenders of a group stay up, and each round measures all of them for a moment, in random order. What
else the machine does then hits all alike. What a process has by the chance of its start, the places of its memory above all, stays
as long as it does; so a group can have its contenders started anew in between."""
import random
import sys
import time
from typing import Callable, Dict, List, NamedTuple, Optional

import paired
from contenders import Failed

FIGURES = ("gbps", "rate", "cpu_s_per_gb", "p50_us", "p99_us", "p999_us", "time_us")
MORE_IS_BETTER = ("gbps", "rate")
CPU, CPU_WORDS = "cpu_s_per_gb", {paired.FASTER: "less", paired.SLOWER: "more"}
MAX_FAILURES = 3  # of a contender, which then is left out
OVERHEAD_S = 0.05  # of a slice, until measured
START_S = 0.5  # of a contender that stays up, its end included


class Row(NamedTuple):
    """A ratio of two contenders, with its target if there is one."""

    title: str
    top: str
    bottom: str
    figure: str = "gbps"
    relation: Optional[str] = None
    bound: Optional[float] = None


def with_cpu(title, top, bottom, relation=None, bound=None, figure="gbps", cpu_relation=None, cpu_bound=None):
    """A ratio of bandwidths (or rates), and that of the processor time per byte beside it."""
    return [Row(title, top, bottom, figure, relation, bound),
            Row("  CPU per byte", top, bottom, CPU, cpu_relation, cpu_bound)]


class Group(NamedTuple):
    name: str
    contenders: Dict[str, Callable]  # name -> call that starts it
    rows: List[Row]
    slices: Optional[int] = None  # where it is not the usual number
    start_s: float = 0  # what a slice costs beside its length, where the programs are started for each
    starts: int = 1  # how often the contenders are started, after equal numbers of slices
    limit_s: Optional[float] = None  # of each start: after it no further round begins, if there are as many as an interval takes


class Progress:
    """Lines on standard error with the time left, by what the slices so far have taken."""

    def __init__(self, planned_s, every_s=10, out=sys.stderr, clock=time.monotonic):
        self.left_s, self.done_s, self.every_s, self.out, self.clock = planned_s, 0.0, every_s, out, clock
        self.spent_s, self.shown = 0.0, None

    def took(self, planned_s, seconds):
        self.left_s -= planned_s
        self.done_s += planned_s
        self.spent_s += seconds

    def skipped(self, planned_s):
        self.left_s -= planned_s

    def remaining_s(self):
        return max(0.0, self.left_s * (self.spent_s / self.done_s if self.done_s > 0 else 1))

    def show(self, text, always=False):
        now = self.clock()
        if not always and self.shown is not None and now - self.shown < self.every_s:
            return
        self.shown = now
        left = round(self.remaining_s())
        print(f"  {text}; about {left // 60}:{left % 60:02d} min left", file=self.out, flush=True)


def planned_s(group, options):
    """With what a start costs: a slice that is not counted, and START_S."""
    slices = group.slices or options.slices
    more = min(group.starts, slices) * (slice_s(group, options) + START_S) if group.starts > 1 else 0
    return len(group.contenders) * (slices * slice_s(group, options) + more)


def slice_s(group, options):
    return options.slice_ms / 1000 + (group.start_s or OVERHEAD_S)


def measure(group, options, progress, title):
    """{"contenders": {name: {"slices": one of each round or None, figure: quartiles, "error"}}, "ratios": [..]}"""
    progress.show(f"{title}: {group.name}: starting {len(group.contenders)} contenders", always=True)
    order = random.Random(options.seed)
    results = {name: {"slices": []} for name in group.contenders}
    rounds = group.slices or options.slices
    starts = min(group.starts, rounds)
    done = 0
    for some in paired.parts(range(rounds), starts):
        measure_some(group, results, options, order, len(some),
                     lambda turn: progress.show(f"{title}: {group.name}: slice {done + turn} of {rounds}"), progress)
        done += len(some)
    return {"contenders": {name: summary(result) for name, result in results.items()},
            "ratios": [judged(row, results, options.seed, starts) for row in group.rows]}


def measure_some(group, results, options, order, rounds, show, progress):
    """Starts the contenders, measures so many rounds, and ends them."""
    up, begin = {}, time.monotonic()
    try:
        # In random order, too: that of the starts has effects of its own.
        for name, start in order.sample(list(group.contenders.items()), len(group.contenders)):
            if results[name].get("failed_starts", 0) == MAX_FAILURES:
                continue
            try:
                up[name] = start()
            except (Failed, OSError, ValueError) as e:
                results[name]["error"] = str(e)
                results[name]["failed_starts"] = results[name].get("failed_starts", 0) + 1
        # One that is not counted: memory that is touched first, windows that grow.
        up_at = time.monotonic()
        for turn in range(-1, rounds):
            if turn >= paired.MIN_PAIRS and group.limit_s is not None and time.monotonic() - up_at > group.limit_s:
                progress.skipped((rounds - turn) * len(group.contenders) * slice_s(group, options))
                break
            names = list(group.contenders)
            order.shuffle(names)
            for name in names:
                one_slice(name, up, results, options, turn >= 0)
                if turn >= 0:
                    progress.took(slice_s(group, options), time.monotonic() - begin)
                begin = time.monotonic()
            show(turn + 1)
    finally:
        for contender in up.values():
            contender.close()


def one_slice(name, up, results, options, counts):
    result = results[name]
    slice_ = None
    if name in up:
        try:
            slice_ = up[name].slice(options.slice_ms / 1000)
        except (Failed, OSError, ValueError, KeyError, TypeError) as e:
            result["error"] = str(e)
            result["failures"] = result.get("failures", 0) + 1
            # One that has died does not come back; short runs may.
            if getattr(up[name], "client", None) is not None or result["failures"] >= MAX_FAILURES:
                up.pop(name).close()
    if counts:
        result["slices"].append(slice_)


def summary(result):
    """The slices with median and quartiles of each figure."""
    whole = dict(result)
    for figure in FIGURES:
        values = [s[figure] for s in result["slices"] if s is not None and figure in s]
        if values:
            whole[figure] = paired.quartiles(values)
    return whole


def judged(row, results, seed, starts=1):
    def of(name):
        return [s.get(row.figure) if s is not None else None for s in results[name]["slices"]]

    done = paired.compare(of(row.top), of(row.bottom), row.figure in MORE_IS_BETTER, seed, starts)
    if done is not None and row.figure == CPU:
        done["verdict"] = CPU_WORDS.get(done["verdict"], done["verdict"])
    line = {"ratio": row.title, "figure": row.figure, "of": [row.top, row.bottom], "target": None, "met": None}
    if row.bound is not None:
        line["target"] = f"{row.relation} {row.bound}"
        line["met"] = paired.met(done, row.relation, row.bound)
    return {**line, **(done or {"value": None})}
