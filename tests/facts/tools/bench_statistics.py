"""The statistics of tools/bench, and the order in which it measures: with figures that are made up, so always with one result.

usage: bench_statistics.py SOURCE_DIR
"""
import inspect
import io
import json
import os
import shutil
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(sys.argv[1], "tools", "bench.d"))
import contenders  # noqa: E402
import fabric  # noqa: E402
import load  # noqa: E402
import locks  # noqa: E402
import nccl  # noqa: E402
import needs  # noqa: E402
import paired  # noqa: E402
import plan  # noqa: E402
import preflight  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import rig  # noqa: E402
import slices  # noqa: E402
import targets  # noqa: E402
from contenders import Failed  # noqa: E402


def noisy(count, true, load=7):
    """Figures of a contender under a load that changes from round to round, by up to a factor of three."""
    return [true * (1 + 2 * ((k * load) % 11) / 10) * (1 + ((k * 13) % 7 - 3) / 100) for k in range(count)]


def quartiles_interpolate():
    assert paired.quartiles([4, 1, 3, 2]) == {"median": 2.5, "q1": 1.75, "q3": 3.25}
    assert paired.quartiles([5]) == {"median": 5, "q1": 5, "q3": 5}


def ratios_are_of_the_same_round():
    assert paired.of_rounds([2, None, 6, 8], [1, 1, None, 2]) == [2, 4]
    assert paired.of_rounds([1], [0]) == []
    assert paired.compare([None, 1], [1, None]) is None


def load_that_hits_both_does_not_matter():
    """The figures themselves vary by a factor of three, and 4 % are seen."""
    base = noisy(60, 10)
    better = [1.04 * figure * (1 + ((k * 5) % 9 - 4) / 400) for k, figure in enumerate(base)]
    done = paired.compare(better, base)
    assert done["verdict"] == paired.FASTER and done["pairs"] == 60, done
    low, high = done["interval"]
    assert 1 < low <= done["value"] <= high < 1.08, done
    assert abs(done["value"] - 1.04) < 0.01, done
    assert paired.compare(base, better)["verdict"] == paired.SLOWER
    assert paired.compare(better, base, more_is_better=False)["verdict"] == paired.SLOWER
    assert paired.compare(base, better, more_is_better=False)["verdict"] == paired.FASTER


def noise_alone_is_no_difference():
    a = [10 * (1 + ((k * 7) % 11 - 5) / 20) for k in range(66)]
    b = [10 * (1 + ((k * 3) % 11 - 5) / 20) for k in range(66)]
    done = paired.compare(a, b)
    assert done["verdict"] == paired.SAME and done["interval"][0] <= 1 <= done["interval"][1], done


def an_outlier_does_not_decide():
    base = [10.0] * 30
    once = [10.0 * (1 + 0.001 * (k % 3 - 1)) for k in range(29)] + [1000.0]
    assert paired.compare(once, base)["verdict"] == paired.SAME


def few_pairs_allow_no_claim():
    assert paired.compare([2.0] * (paired.MIN_PAIRS - 1), [1.0] * (paired.MIN_PAIRS - 1))["verdict"] == paired.TOO_FEW
    assert paired.compare([2.0] * paired.MIN_PAIRS, [1.0] * paired.MIN_PAIRS)["verdict"] == paired.FASTER


def the_seed_decides_the_interval():
    ratios = noisy(40, 1)
    alone = [[ratio] for ratio in ratios]
    assert paired.interval(alone, 5) == paired.interval(alone, 5)
    assert paired.interval([[1.5]] * 20, 1) == (1.5, 1.5)


def a_start_is_one_observation():
    """Half of the starts are 8 % faster in all of their rounds: that is the luck of few, not a difference shown by many rounds."""
    lucky = [1.08 if start % 2 else 0.99 for start in range(6) for _ in range(10)]
    base = [1.0] * 60
    few = paired.compare(lucky, base, starts=6)
    assert few["verdict"] == paired.SAME and few["interval"][0] < 1 < few["interval"][1] and few["pairs"] == 60, few
    assert paired.compare([1.05] * 60, base, starts=6)["verdict"] == paired.FASTER
    assert paired.parts([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4, 5]]
    assert paired.compare([None] * 10 + [2.0] * 50, base, starts=6)["pairs"] == 50
    assert paired.compare([None] * 50 + [1.05] * 10, base, starts=6)["verdict"] == paired.TOO_FEW


def a_bound_is_met_at_the_bound():
    assert paired.meets(0.95, ">=", 0.95) and not paired.meets(0.9499, ">=", 0.95)
    assert paired.meets(1.2, "<=", 1.2) and not paired.meets(1.2001, "<=", 1.2)


def no_loss_is_judged_by_the_interval():
    def met(low, high, pairs=paired.MIN_PAIRS):
        return paired.met({"value": 0.9, "interval": [low, high], "pairs": pairs}, paired.NO_LOSS, 1.0)

    assert met(0.8, 1.0) and not met(0.8, 0.9999)
    assert not met(0.8, 1.2, paired.MIN_PAIRS - 1) and not paired.met(None, paired.NO_LOSS, 1.0)
    assert paired.met({"value": 0.9}, ">=", 0.9) and not paired.met({"value": 0.9}, ">=", 1.0) and not paired.met(None, ">=", 0)


class Fake:
    """A contender with figures that are given; None fails."""

    def __init__(self, name, figures, log, client=None):
        self.name, self.figures, self.log, self.client, self.closed = name, iter(figures), log, client, False

    def slice(self, seconds):
        assert seconds == 0.1
        self.log.append(self.name)
        value = next(self.figures)
        if value is None:
            raise Failed("it broke")
        return {"gbps": value, "cpu_s_per_gb": 1 / value}

    def close(self):
        self.closed = True


def quiet():
    return slices.Progress(10, out=io.StringIO())


def options(count, seed=1):
    return types.SimpleNamespace(slices=count, slice_ms=100, seed=seed)


def fails():
    raise Failed("not built")


def every_round_has_all_in_another_order():
    orders = []
    for seed in (1, 1, 2):
        log = []
        made = {name: Fake(name, [value] * 21, log) for name, value in (("a", 2.0), ("b", 1.0), ("c", 4.0))}
        group = slices.Group("g", {name: lambda fake=fake: fake for name, fake in made.items()},
                             [*slices.with_cpu("a / b", "a", "b", ">=", 2.0), slices.Row("c / b", "c", "b", "gbps", ">=", 4.01)])
        done = slices.measure(group, options(20, seed), quiet(), "here")
        rounds = [tuple(log[k:k + 3]) for k in range(0, len(log), 3)]
        assert len(rounds) == 21 and all(set(order) == {"a", "b", "c"} for order in rounds), rounds  # one is not counted
        assert len(set(rounds)) > 3, rounds
        orders.append(rounds)
        assert all(fake.closed for fake in made.values())
        assert len(done["contenders"]["a"]["slices"]) == 20 and done["contenders"]["c"]["gbps"]["median"] == 4
        bandwidth, cpu, missed = done["ratios"]
        assert (bandwidth["value"], bandwidth["met"], bandwidth["verdict"]) == (2, True, paired.FASTER), bandwidth
        assert (cpu["value"], cpu["met"], cpu["verdict"]) == (0.5, None, "less"), cpu
        assert missed["met"] is False and missed["interval"] == [4, 4], missed
    assert orders[0] == orders[1] != orders[2]


def contenders_are_started_anew():
    log, started = [], []

    def start(name, value):
        started.append(name)
        return Fake(name, [value] * 100, log)

    group = slices.Group("g", {"a": lambda: start("a", 2.0), "b": lambda: start("b", 1.0)}, [slices.Row("a / b", "a", "b")], starts=4)
    done = slices.measure(group, options(20), quiet(), "HEAD@{1}")
    assert all(set(started[at:at + 2]) == {"a", "b"} for at in range(0, 8, 2)) and len(started) == 8, started
    assert len(log) == 2 * (20 + 4) and len(done["contenders"]["a"]["slices"]) == 20, len(log)  # of each start one is not counted
    assert done["ratios"][0]["value"] == 2 and done["ratios"][0]["pairs"] == 20, done


def long_slices_end_a_group_with_as_many_as_an_interval_takes():
    for limit_s, rounds in ((0, paired.MIN_PAIRS), (60, 20), (None, 20)):
        progress, made = quiet(), {name: Fake(name, [1.0] * 21, []) for name in ("a", "b")}
        progress.left_s = slices.planned_s(slices.Group("g", made, []), options(20))
        group = slices.Group("g", {name: lambda fake=fake: fake for name, fake in made.items()}, [slices.Row("a / b", "a", "b")], limit_s=limit_s)
        done = slices.measure(group, options(20), progress, "here")
        assert done["ratios"][0]["pairs"] == rounds and abs(progress.left_s) < 1e-9, (done["ratios"], progress.left_s)
        assert done["ratios"][0]["verdict"] == paired.SAME


def what_breaks_is_reported_and_the_others_go_on():
    log = []
    stays = Fake("stays", [1.0] * 21, log, client=object())
    dies = Fake("dies", [2.0] * 11 + [None], log, client=object())
    runs = Fake("runs", [3.0] * 5 + [None] + [3.0] * 15, log)
    group = slices.Group("g", {"stays": lambda: stays, "dies": lambda: dies, "runs": lambda: runs, "none": fails},
                         [slices.Row("dies / stays", "dies", "stays"), slices.Row("none / stays", "none", "stays", "gbps", ">=", 1),
                          slices.Row("runs / stays", "runs", "stays")])
    done = slices.measure(group, options(20), quiet(), "here")
    dead, absent, again = done["ratios"]
    assert (dead["value"], dead["pairs"]) == (2, 10) and dies.closed, dead
    assert absent["value"] is None and absent["met"] is False, absent
    assert (again["value"], again["pairs"]) == (3, 19), again
    assert done["contenders"]["none"]["error"] == "not built" and log.count("stays") == 21
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        report.print_group("g", done)
        text = sys.stdout.getvalue()
    finally:
        sys.stdout = out
    assert "(not built)" in text and "not measured" in text and "MISSED" in text and "[2.000, 2.000]" in text, text


def progress_counts_down():
    out, now = io.StringIO(), [0.0]
    progress = slices.Progress(100, every_s=10, out=out, clock=lambda: now[0])
    progress.show("a")
    progress.took(25, 50)  # takes twice as long as planned
    progress.show("b")
    now[0] = 50
    progress.show("c")
    assert out.getvalue() == "  a; about 1:40 min left\n  c; about 2:30 min left\n", out.getvalue()


def the_plan_has_the_targets():
    place = types.SimpleNamespace(datapaths={"memory": {"MRC_SAME_HOST": "memory"}}, name="loopback", addresses=["::1"])
    chosen = types.SimpleNamespace(parts=plan.PARTS, quick=False)
    rows = [row for group in plan.groups(place, chosen) for row in group.rows]
    for group in plan.groups(place, chosen):
        assert all(row.top in group.contenders and row.bottom in group.contenders for row in group.rows), group
    targets = {(row.top, row.bottom, row.figure, row.relation, row.bound) for row in rows if row.bound is not None}
    for wanted in (("MRC", "raw limit", "gbps", ">=", 0.95), ("MRC", "TCP", "cpu_s_per_gb", "<=", 0.9), ("MRC", "TCP", "gbps", ">=", 1.3),
                   ("MRC", "TCP, 4 streams", "gbps", ">=", 1.3), ("MRC", "raw limit", "p50_us", "<=", 1.2),
                   ("MRC", "raw limit", "p99_us", "<=", 1.5), ("MRC", "raw limit", "p999_us", "<=", 1.5)):
        assert wanted in targets, wanted
    place.bare_interfaces = list  # a place with interfaces to spare
    drivers = {(row.top, row.bottom, row.figure, row.relation, row.bound) for group in plan.drivers(place, chosen) for row in group.rows}
    assert drivers >= {("MRC", "bare AF_XDP", "gbps", ">=", 0.7), ("MRC", "bare rte_eth", "gbps", ">=", 0.6)}, drivers
    for processors, target in ((3, (paired.NO_LOSS, 1.0)), (4, (">=", 1.8))):  # four are needed for two engines at both ends
        plan.processors = lambda n=processors: n
        alone, *curves = plan.shards(place, chosen)
        assert (alone.rows[0].relation, alone.rows[0].bound) == target, alone
        assert [list(group.contenders) for group in curves] == [[f"{n} engines" for n in (1, 2, 4) if n <= processors]] * 2, curves
    bandwidths = [row for row in rows if row.figure == "gbps"]
    assert len(bandwidths) == len([row for row in rows if row.figure == "cpu_s_per_gb"]) - len([row for row in rows if row.figure == "rate"])
    titles = [row.title for group in plan.comparison(place, "old", "new", "v1", True) for row in group.rows]
    assert [t for t in titles if "p9" in t or "p50" in t] == [f"half round trip of 2 B: {p}" for p in ("p50", "p99", "p99.9")], titles


def measured_by_rigs(size, loss, times):
    """What the part nccl keeps of a place and a loss, where each transport always took so many us for an all_reduce; None: it broke."""
    broken = {name: {"slices": [], "error": "it broke"} for name, time_us in times.items() if time_us is None}
    results = {name: {"slices": [{"time_us": time_us, "rate": 1e6 / time_us}] * paired.MIN_PAIRS} for name, time_us in times.items() if time_us}
    results.update(broken)
    rows = nccl.rows_of("all_reduce", size, loss, list(times), [size])
    return {"groups": {f"all_reduce of {nccl.size_name(size)}": {"contenders": {name: slices.summary(result) for name, result in results.items()},
                                                                  "ratios": [slices.judged(row, results, 1) for row in rows]}}}


def floors_of_nccl(size, loss, socket_us, mrc_us):
    """(value, met) of each floor of the part nccl."""
    rows = nccl.judged({"veth": {f"{loss:g}": measured_by_rigs(size, loss, {nccl.SOCKET: socket_us, nccl.MRC: mrc_us})}})
    assert all(row["ratio"].startswith("veth: ") for row in rows), rows
    return [(row["value"] and round(row["value"], 3), row["met"]) for row in rows]


def the_floors_of_nccl_have_two_sides():
    assert floors_of_nccl(16 << 20, 0, 100.0, 100.0) == [(1.0, True)] and floors_of_nccl(16 << 20, 0, 99.0, 100.0) == [(0.99, False)]
    assert floors_of_nccl(16 << 20, 1, 300.0, 100.0) == [(3.0, True)] and floors_of_nccl(16 << 20, 1, 299.0, 100.0) == [(2.99, False)]
    assert floors_of_nccl(8, 0, 100.0, 119.0) == [(1.19, True)] and floors_of_nccl(8, 0, 100.0, 121.0) == [(1.21, False)]
    assert floors_of_nccl(64 << 20, 0, 119.0, 100.0) == [(1.19, True), (1.19, False)]  # as a large size, and by itself
    assert floors_of_nccl(64 << 20, 0, 121.0, 100.0) == [(1.21, True), (1.21, True)]
    assert floors_of_nccl(8 << 10, 0, 100.0, 100.0) == [(1.0, True)] and floors_of_nccl(8 << 10, 0, 100.0, 101.0) == [(1.01, False)]
    assert floors_of_nccl(1 << 20, 0, 100.0, 100.0) == [] and floors_of_nccl(16 << 20, 0.1, 100.0, 100.0) == []
    assert floors_of_nccl(8, 0, None, 100.0) == [(None, False)]


def nccl_socket_is_tuned_by_times_of_the_same_round():
    """The machine is three times as slow in every other round, and the fastest has more of the slow ones."""
    made = {"a": [10, None, None, 10], "b": [11, 33, 33, 11], "slow": [12, 36, 30, None], "fast": [None, 27, 27, None], "dead": [None] * 4}
    contenders_of_it = {name: {"slices": [time_us and {"time_us": time_us} for time_us in times]} for name, times in made.items()}
    assert nccl.fastest({"contenders": contenders_of_it}) == "fast"
    assert nccl.fastest({"contenders": {"dead": contenders_of_it["dead"]}}) is None


def a_rig_stays_up_and_begins_anew_once_it_has_failed():
    started, asked = [], []

    class Answers:
        """A program with made-up answers; a word is what a failing rig prints."""

        def __init__(self, words):
            started.append(words)
            self.answers = iter([{"ready": True}, {"time_us": 50.0, "cpu_us": 80.0, "busbw_gb_s": 0.5, "wrong": 0}, {"time_us": 50.0, "cpu_us": 80.0, "busbw_gb_s": 0.5, "wrong": 3}, "a rank died"])

        ask = asked.append

        def answer(self, limit_s):
            assert limit_s in (contenders.READY_S, 120)
            answer = next(self.answers)
            return json.loads(answer) if isinstance(answer, str) else answer

        def close(self, _):
            self.answers = None

    real, contenders.Process = contenders.Process, Answers
    try:
        one = rig.Rig(["nccl-rig"])
        assert not started
        first, second = (rig.Measurement(one, f"{test} 8 20 3", 120, 2) for test in ("all_reduce", "sendrecv"))
        assert len(started) == 1
        slice_ = first.slice(0.15)
        # Each rank sends 25 kB in the 50 us.
        assert abs(slice_.pop("cpu_s_per_gb") - 80e-6 / 50e-6) < 1e-9 and slice_ == {"time_us": 50.0, "rate": 20000.0, "gbps": 4.0}
        for measurement, words in ((first, "3 elements are wrong"), (second, "a rank died")):
            try:
                measurement.slice(0.1)
            except Failed as e:
                assert str(e) == words
            else:
                raise AssertionError(words)
        assert asked == ["all_reduce 8 20 3 0.15 1", "all_reduce 8 20 3 0.1 0", "sendrecv 8 20 3 0.1 1"], asked
        rig.Measurement(one, "alltoall 8 20 3", 120, 2)
        assert len(started) == 2
    finally:
        contenders.Process = real


def what_nccl_is_measured_with_is_named_where_it_is_not_built():
    built, programs.build = programs.build, tempfile.mkdtemp(prefix="mrc-test-")
    rig = os.path.join("tests", "system", "nccl-real", "nccl-rig")
    try:
        for made, target in ((None, "nccl-rig"), (rig, "nccl-net-mrc"), (os.path.join(*reversed(programs.MRC_PLUGIN)), "nccl-net-tcp-baseline")):
            if made:
                path = os.path.join(programs.build, made)
                os.makedirs(os.path.dirname(path))
                with open(path, "w", encoding="utf-8"):
                    pass
            assert nccl.missing().startswith(f"{target} is not built"), nccl.missing()
            assert target in needs.OF_PART["nccl"]
    finally:
        shutil.rmtree(programs.build)
        programs.build = built


def sizes_of_nccl_are_swept_and_timed():
    assert nccl.sizes_of("8,64K") == [8, 65536] and nccl.sizes_of("8..100") == [8, 32, 100]
    assert nccl.classes([8, 64 << 10, (64 << 10) + 1, 16 << 20]) == {"small": [8, 64 << 10], "large": [(64 << 10) + 1, 16 << 20]}
    assert nccl.classes([8]) == {"small": [8]}
    assert [nccl.runs_of(size) for size in (64 << 10, (64 << 10) + 1, 16 << 20)] == [(20, 3), (4, 1), (1, 1)]
    assert nccl.limit_of(8) == 120 and nccl.limit_of(256 << 20) == 120 + 32 and nccl.limit_of(256 << 20, 4) == 120 + 64


def a_preflight_is_judged_by_time_and_by_names():
    def met(well, faulty, unnamed):
        rows = preflight.judged({"well": {"seconds": well, "findings": []}, "faulty": {"seconds": faulty, "unnamed": unnamed}})
        return [row["met"] for row in rows]

    assert met([60.0], [60.0], [[]]) == [True, True, True]
    assert met([60.1], [60.1], [["h5 sends at "]]) == [False, False, False]
    assert met([20.0, 90.0, 30.0], [50.0, 90.0, 55.0], [[], ["x"], []]) == [True, True, False]


def locks_are_shared_where_two_engines_take_them_often():
    threads, often = ["mrc-perf", "mrc-helper", "mrc-helper", "mrc-perf"], locks.OFTEN

    def counts(*third):
        """Two engines, each with a thread and a helper; a third lock, taken so often by each."""
        return {"threads": threads, "locks": [[19 * often, 8 * often, 0, 1], [0, 1, 8 * often, 19 * often], list(third)]}

    assert locks.shared(counts(often, 0, 0, often)) == 1 and locks.engines(counts(0, 0, 0, 0)) == 2 and locks.helpers(counts(0, 0, 0, 0)) == 2
    assert locks.shared(counts(often, 0, 0, often - 1)) == 0  # set-up
    assert locks.shared(counts(0, often, often, 0)) == 1
    assert locks.shared(counts(often, 0, often, 0)) == 1  # a thread and the helper of the other engine
    assert locks.shared(counts(often, often, 0, 0)) == 0  # of one engine
    assert locks.engines(counts(*[20 * often] * 4)) == 1  # taken more often than an engine's lock
    slow = {"threads": threads, "locks": [[19 * often, 2 * often, 0, 0], [often, 3 * often, 0, 0], [0, 0, 0, 19 * often]]}
    assert locks.shared(slow) == 0 and locks.engines(slow) == 2  # a helper takes another lock of its engine more often
    idle = {"threads": threads, "locks": [[10 * often, often - 1, 0, 0]]}
    assert locks.engines(idle) == 1 and locks.helpers(idle) == 0 and locks.engines({"threads": [], "locks": []}) == 0


def the_table_has_each_target_of_a_run():
    def row(title, value, target, met, **more):
        return {"ratio": title, "value": value, "target": target, "met": met, **more}

    result = {"slices": 60, "slice_ms": 150, "rounds": 5, "revision": "abc", "cpus": 2, "kernel": "6.18", "load": 0.1,
              "idle": {"ratios": [row("bytes", 7000, "<= 8192", True)]}, "srv6": {"error": "exit 1:\n  no | root"},
              "places": {"veth": {"groups": {"g": {"ratios": [
                  row("MRC / TCP", 1.5, None, None), row("  CPU per byte", 1.0004, "<= 0.9", False, of=["MRC", "TCP"], interval=[0.9, 1.1])]}},
                  "ratios": [row("loss", None, ">= 0.8", False), row("ring", 2, ">= 1.2", True, least=1, most=3)]}}}
    head, empty, *lines = targets.table(result)
    assert "at abc: 2 processors" in head and not empty, head
    assert lines[2:] == ["| idle | bytes | 7000.000 | <= 8192 | met |",
                         "| veth, g | CPU per byte, MRC / TCP | 1.000 [0.900, 1.100] | <= 0.9 | missed |",
                         "| veth | loss | not measured | >= 0.8 | missed |",
                         "| veth | ring | 2.000 1.00 to 3.00 | >= 1.2 | met |",
                         "| srv6 | all | not measured: exit 1: no \\| root | | |"], lines
    assert targets.table({**result, "idle": {}, "srv6": {}, "places": {}}) == []


def a_missed_target_and_a_part_left_out_fail_the_run():
    met = {"ratios": [{"met": True}, {"met": None}]}
    assert not targets.failed({"idle": met, "places": {"veth": {"groups": {"g": met}, "ratios": []}}})
    assert targets.failed({"idle": {"ratios": [{"met": False}]}, "places": {}})
    assert targets.failed({"places": {"veth": {"groups": {"g": {"ratios": [{"met": False}]}}, "ratios": []}}})
    for part in targets.ONCE:
        assert targets.failed({"idle": met, part: {"error": "no root"}, "places": {}}), part
    assert targets.failed({"idle": met, "places": {}, "left_out": {"veth": "no root"}})


def a_piece_of_nccl_without_figures_is_left_out():
    whole = measured_by_rigs(8, 0, {nccl.SOCKET: 5.0, nccl.MRC: 5.0})
    whole["groups"]["all_reduce of 8 B"]["contenders"][nccl.MRC]["error"] = "exit 1"
    assert nccl.left_out({"veth": {"0": whole}}) == {}  # a contender that failed once has figures of the other slices
    pieces = nccl.left_out({"veth": {"0": whole, "1": measured_by_rigs(8, 1, {nccl.SOCKET: 5.0, nccl.TCP: None})}, "loopback": {"0.1": {"error": "no tc"}}})
    assert pieces == {f"veth, loss 1 %, {nccl.TCP}": "it broke", "loopback, loss 0.1 %": "no tc"}, pieces
    result = {"places": {}, "nccl": {"ratios": [{"met": True}], "left_out": pieces}}
    assert targets.failed(result) and targets.left_out(result)["nccl, loopback, loss 0.1 %"] == "no tc"
    assert not targets.failed({"places": {}, "nccl": {"ratios": [{"met": True}], "left_out": {}}})


def a_floor_of_nccl_is_not_met_by_a_few_pairs():
    whole = measured_by_rigs(8, 0, {nccl.SOCKET: 5.0, nccl.MRC: 4.0})
    assert [row["met"] for row in nccl.judged({"veth": {"0": whole}})] == [True]
    (group,) = whole["groups"].values()
    group["ratios"] = [{**row, "pairs": paired.MIN_PAIRS - 1} for row in group["ratios"]]
    assert [row["met"] for row in nccl.judged({"veth": {"0": whole}})] == [False]


def a_fabric_without_mrcd_leaves_the_gray_link_out():
    assert fabric.left_out({"udp": {"spray": {}, "gray": {}}}) == {}
    pieces = fabric.left_out({"udp": {"spray": {}}, "raw": {"spray": {}, "gray": {}}})
    assert pieces == {"udp: gray link": "mrcd or mrcctl is not built"}
    assert targets.left_out({"fabric": {"ratios": [], "left_out": pieces}}) == {"fabric, udp: gray link": "mrcd or mrcctl is not built"}


def a_load_of_one_is_complained_of():
    assert load.sentence(0.99) == "tools/bench: load average 0.99"
    assert load.sentence(1).startswith("tools/bench: load average 1.00: measure when it is below 1 ")


def each_part_has_its_targets_built():
    import main  # pylint: disable=import-outside-toplevel
    assert set(needs.OF_PART) == set(main.PARTS), set(needs.OF_PART) ^ set(main.PARTS)
    assert needs.targets([]) == needs.targets(["qps", "targets"]) == ["mrc-perf"]
    assert needs.targets(["bandwidth", "latency"]) == ["mrc-perf", "mrc-udp-limit", "mrc-socket-limit"]


HELPERS = {"quiet", "fails"}
CHECKS = [check for name, check in list(globals().items())
          if isinstance(check, types.FunctionType) and check.__module__ == __name__ and not inspect.signature(check).parameters and name not in HELPERS]
for check in CHECKS:
    check()
print(f"{len(CHECKS)} checks")
