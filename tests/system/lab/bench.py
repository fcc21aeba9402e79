"""The common part of the demonstrations: a fabric of two planes with two T0s and two T1s in each and two hosts below
each T0, links slow enough for two cores to fill, and a transfer from one T0 to the other whose every byte is compared."""
import signal
import time

import other_suites  # noqa: F401  # first: it extends the search path

import built
from lab import Lab, environment
from limits import LIMIT_S, limit
from process import no_report
from streams import STEADY, Stream
from wait import until

GBPS = 0.5  # of a link: a debugging build on a slow machine fills it as well
FABRIC = f"""name: two
planes: 2
t0: 2
t1: 2
nics_per_t0: 2
nic_link: {{rate: {GBPS:g}G, delay: 500ns}}
ev: {{count: 16}}
"""
START_S = limit(40)  # of two programs and the first data, on a machine that does much else
POLL_S = 0.1
UNTIL_FINISHED = limit(120)  # longer than all waits of a test together
SOURCE, TARGET = "h0", "h3"


class Transfer:
    """Runs for `seconds`, with UNTIL_FINISHED until finish(), or with None as long as `more` returns true; leaving the block kills
    what is left."""

    def __init__(self, two, seconds, datapath="udp", more=(), env=None, source=SOURCE, target=TARGET):
        self.seconds = seconds
        settings = {"MRC_DATAPATH": datapath, **(env or {})}
        length = [] if seconds is None else ["--duration", seconds]
        self.stream = Stream(two.inside, built.path("MRC_PERF"), source, target, ["--verify", *STEADY, *length, *more],
                             environment(settings))

    def __enter__(self):
        self.stream.wait_for_data(START_S)
        return self

    def __exit__(self, *_):
        self.stream.kill()
        no_report("mrc-perf", self.stream.errors())

    def run_for(self, seconds):
        time.sleep(seconds)
        assert self.stream.client.poll() is None, f"it ended early: {self.stream.words()}"

    def run_until(self, words, enough, limit_s=LIMIT_S):
        """Every POLL_S `enough` is asked of the rows so far; `words` say what is waited for."""
        def happened():
            self.run_for(POLL_S)
            return enough(self.stream.rows)

        until(happened, lambda: f"{words}: not within {limit_s:g} s\n{self.stream.words()}" +
              "\n".join(f"{r.at:.2f} {r.gbps} {r.per_plane} {r.evs}" for r in self.stream.rows[-20:]), limit_s, every_s=0)

    def finish(self):
        if self.seconds == UNTIL_FINISHED:
            self.stream.client.send_signal(signal.SIGINT)
        report = self.stream.finish(LIMIT_S)
        size = report["sizes"][-1]
        assert size["checked"] == size["messages"] > 0, size
        return report


def t1_ports(two):
    """Bytes that each port of each T1 has sent."""
    return {link["upper"]: link["down"]["tx_bytes"] for link in two.json("status")["links"] if "-t1-" in link["upper"]}


__all__ = ["FABRIC", "GBPS", "Lab", "POLL_S", "Transfer", "UNTIL_FINISHED", "t1_ports"]
