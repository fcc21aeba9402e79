"""A transfer of mrc-perf between two hosts of a lab, monitored while it runs: the caller chooses program and hosts, and reads
rows of throughput with times on this process's clock, so that they can be laid beside what was broken and when.

mrc-perf's server ends with its client. Times are seconds of time.monotonic(); rows carry Gb/s of payload.
"""
import json
import re
import subprocess
import threading
import time

# "     100     1.93       2    1.0   1.0                 0  16/0/0/0", see mrc-perf --timeline
ROW = re.compile(r"^ *(?P<ms>\d+) +(?P<gbps>[\d.]+) +(?P<planes>\d+)  (?P<per_plane>[\d. ]+?) +(?P<retx>\d+)  "
                 r"(?P<good>\d+)/(?P<skip>\d+)/(?P<bad>\d+)/(?P<denied>\d+)$")

# Small messages, each with a completion: rows of a few milliseconds show throughput and not its accounting.
STEADY = ["--size", "64K", "--signal-every", "1"]


class Row:
    """One interval of the timeline; it ends at `at`."""

    def __init__(self, at, match):
        self.at = at
        self.gbps = float(match["gbps"])
        self.per_plane = [float(g) for g in match["per_plane"].split()]
        self.retransmits = int(match["retx"])
        self.evs = {state: int(match[state]) for state in ("good", "skip", "bad", "denied")}


class Stream:
    """`inside(host)` gives the words that run a program there; `perf` is mrc-perf's path."""

    def __init__(self, inside, perf, source, target, args, env, interval_ms=20, port=7000):
        self.interval = interval_ms / 1000
        self.lines = []
        self.rows = []
        self.on_row = None
        self.zero = None  # when the client began to send
        self._first = threading.Event()
        self.server = subprocess.Popen([*inside(target), perf, "--quiet", "--port", str(port)], env=env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.client = subprocess.Popen([*inside(source), perf, target, "--port", str(port), "--timeline", str(interval_ms),
                                        "--json", "-", *map(str, args)], env=env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.client.stderr:
            match = ROW.match(line.rstrip("\n"))
            if match is None:
                self.lines.append(line)
                continue
            # A line is read late, never early: the earliest start that any line allows is the best estimate.
            begun = time.monotonic() - int(match["ms"]) / 1000
            self.zero = begun if self.zero is None else min(self.zero, begun)
            row = Row(self.zero + int(match["ms"]) / 1000, match)
            self.rows.append(row)
            self._first.set()
            if self.on_row is not None:
                self.on_row(row)

    def wait_for_data(self, limit_s):
        if not self._first.wait(limit_s):
            self.kill()
            raise AssertionError(f"no data within {limit_s} s: {self.words()}")

    def finish(self, limit_s):
        """The client's report; AssertionError with both programs' words where either failed."""
        try:
            out = self.client.stdout.read()
            codes = self.client.wait(limit_s), self.server.wait(limit_s)
            self._reader.join(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {limit_s} s: {self.words()}") from None
        finally:
            self.kill()
        if codes != (0, 0):
            raise AssertionError(f"exit status {codes}: {self.words()}\nserver: {self.server.stderr.read()}")
        report = json.loads(out)
        size = report["sizes"][-1]
        if not report["ok"] or size["mismatches"] != 0:
            raise AssertionError(f"wrong data: {report}")
        return report

    def kill(self):
        for process in (self.client, self.server):
            if process.poll() is None:
                process.kill()
                process.wait()

    def errors(self):
        """What both wrote to standard error besides the rows, of programs that have ended."""
        self._reader.join()
        return "".join(self.lines) + self.server.stderr.read()

    def words(self):
        return "".join(self.lines[-20:])
