"""Injects faults during one transfer across a fabric and reports their effect.

A Break is broken and mended at times counted from the first data. Its figures: throughput before, while broken and after;
for how long throughput was below what the intact paths carry, and how long until it was steady there (judge.py), counted
from the moment at which the command that breaks or mends was given.
"""
import dataclasses
import time

import judge
from fabric import environment
from streams import STEADY, Stream

START_S = 40
END_S = 60
ANSWER_S = 3.0  # how long after an event a transfer may take to be steady again


@dataclasses.dataclass
class Break:
    name: str  # for people
    words: tuple  # of `mrc-fabric fault`, without the last: down or up
    down_at: float
    up_at: float
    left: float = 1.0  # part of the throughput that the intact paths carry
    given: dict = dataclasses.field(default_factory=dict)  # "down", "up": when the command was given and had returned


class Play:
    def __init__(self, fabric, perf, breaks, seconds, source="h0", target="h7", datapath="udp", more=(), interval_ms=20,
                 settings=None):
        env = environment({"MRC_DATAPATH": datapath, **(settings or {})})
        self.fabric, self.breaks, self.seconds = fabric, breaks, seconds
        self.report = None
        length = [] if seconds is None else ["--duration", seconds]  # else `more` gives the duration
        self.stream = Stream(fabric.inside, perf, source, target, ["--verify", *STEADY, *length, *more], env,
                             interval_ms)

    def run(self, on_row=None, on_break=None):
        """`on_row` gets every row as it comes, `on_break` the break and "down" or "up" just before it is done."""
        self.stream.on_row = on_row
        try:
            self.stream.wait_for_data(START_S)
            self.begin = self.stream.rows[0].at
            for at, state, one in sorted(((getattr(b, state + "_at"), state, b) for b in self.breaks for state in ("down", "up")),
                                         key=lambda event: event[0]):
                time.sleep(max(0.0, self.begin + at - time.monotonic()))
                if on_break is not None:
                    on_break(one, state)
                given = time.monotonic()
                self.fabric.fault(*one.words, state)
                one.given[state] = (given, time.monotonic())
            self.report = self.stream.finish((self.seconds or 0) + END_S)
        finally:
            self.stream.kill()
        return self

    def seconds_of(self, at):
        """A time of ours on the clock of the report's timeline."""
        return at - self.stream.zero

    def figures(self, one):
        """Seconds and Gb/s; a time that is None: not within ANSWER_S."""
        rows = self.stream.rows
        down, up = one.given["down"][0], one.given["up"][0]
        quiet = min(1.0, one.down_at - 0.3)  # of the stretches that levels are taken from
        before = judge.level(rows, down - quiet, down)
        return {
            "before_gbps": before,
            "broken_gbps": judge.level(rows, down + (up - down) / 2, up),
            "after_gbps": judge.level(rows, up + 1, up + 1 + quiet),
            "down_until_steady_s": judge.until_steady(rows, down, one.left * before, min(ANSWER_S, up - down)),
            "down_below_s": judge.time_below(rows, down, up, one.left * before),
            "up_until_steady_s": judge.until_steady(rows, up, before, ANSWER_S),
            "quiet_below_s": judge.time_below(rows, down - quiet, down, before),
            "command_s": one.given["down"][1] - down,
        }
