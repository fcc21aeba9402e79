"""Processes of a test: their output is kept, every wait has a limit, and a sanitizer's report fails the test, whatever the exit code."""
import os
import re
import select
import signal
import subprocess
import time

from limits import LIMIT_S, limit

CRASHES = {-number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)}
LAST_OUTPUT_S = limit(2)  # children of the process may hold its output open
REPORT = re.compile(r"^.*(?:(?:ERROR|WARNING|FATAL): \w+Sanitizer: |Sanitizer: CHECK failed|runtime error: )", re.MULTILINE)


def no_report(words, *outputs):
    """`words`: the process of which these are outputs."""
    for output in outputs:
        found = REPORT.search(output)
        assert not found, f"a sanitizer's report of {words}:\n{output[found.start():][:6000]}"


def no_crash(words, code):
    """`code`: the exit code of that process, negative for a signal."""
    assert code not in CRASHES, f"{words} ended by {signal.Signals(-code).name}"


def run(words, env=None, code=0, limit_s=LIMIT_S, **more):
    """Runs a program to its end; returns what subprocess.run() does. It must end with that exit code; None: with any."""
    words = [str(word) for word in words]
    done = subprocess.run(words, env=env, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False, **more)
    assert code is None or done.returncode == code, f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    no_report(" ".join(words), done.stdout, done.stderr)
    if code is None:
        no_crash(" ".join(words), done.returncode)
    return done


def ended(pid):
    """Of any process, children of others included."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Process:
    """A program beside the test. With `merged` what it writes to its standard error is a part of `out`. The end of a `with` block
    kills it and looks for reports in its output, as wait() does, and for a crash."""

    def __init__(self, words, env=None, merged=False, stdin=subprocess.DEVNULL, **more):
        self.words = [str(word) for word in words]
        self.process = subprocess.Popen(self.words, env=env, stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT if merged else subprocess.PIPE, **more)
        self.pid = self.process.pid
        self._out = self._err = b""
        self._complete = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.no_report()  # where an exception is under way, Python prints both

    def __str__(self):
        return f"{' '.join(self.words)}: exit {self.code}\n{self.out[-3000:]}\n{self.err[-3000:]}"

    @property
    def out(self):
        return self._out.decode(errors="replace")

    @property
    def err(self):
        return self._err.decode(errors="replace")

    @property
    def code(self):
        """The exit code, from wait() on."""
        return self.process.returncode

    def ended(self):
        return self.process.poll() is not None

    def signal(self, number):
        self.process.send_signal(number)

    def out_until(self, pattern, limit_s=LIMIT_S):
        """Reads until a line of the output matches."""
        end = time.monotonic() + limit_s
        while not re.search(pattern, self.out, re.MULTILINE):
            self._out += self._part(self.process.stdout, pattern, end)

    def err_until(self, pattern, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while not re.search(pattern, self.err, re.MULTILINE):
            self._err += self._part(self.process.stderr, pattern, end)

    def _part(self, pipe, pattern, end):
        """By the descriptor, for communicate() knows nothing of other buffers."""
        ready, _, _ = select.select([pipe], [], [], max(0, end - time.monotonic()))
        assert ready, f"'{pattern}' does not come: {self}"
        part = os.read(pipe.fileno(), 65536)
        assert part, f"ended without '{pattern}': {self}"
        return part

    def wait(self, limit_s=LIMIT_S):
        """The exit code; the test fails when the process does not end."""
        try:
            self._collect(limit_s)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGABRT)  # a sanitizer then reports where it was
            self._collect(None)
            raise AssertionError(f"did not end within {limit_s:g} s: {self}") from None
        self.no_report()
        return self.code

    def no_report(self):
        no_report(" ".join(self.words), self.out, self.err)
        no_crash(" ".join(self.words), self.process.returncode)

    def ends_within(self, limit_s):
        """Whether it ends by itself, of a process that may well stay."""
        try:
            self._collect(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def complete(self):
        """Itself with all its output, for a message: of a process that has ended without a wait for it."""
        self.ends_within(LAST_OUTPUT_S)
        return self

    def kill(self, limit_s=LIMIT_S):
        """Its output ends with the last process that has it, children included. Outside of a `with` block no_report() comes after it."""
        if not self.ended():
            self.process.kill()
        self._collect(limit_s)

    def _collect(self, limit_s):
        """The rest of the output, once: communicate() would return it again."""
        if not self._complete:
            out, err = self.process.communicate(timeout=limit_s)
            self._out, self._err, self._complete = self._out + out, self._err + (err or b""), True
