"""A pair of mrc-perf processes, and what to expect of them.

Every wait has a limit that is far above what a busy machine needs; no test judges by speed.
"""
import json
import os
import re
import select
import signal
import socket
import subprocess
import time

from limits import LIMIT_S

MRC_PERF, MRCLOG, MRCCTL = "mrc-perf", "mrclog", "mrcctl"  # set by prepare()
FOLDER = "."
ROW = r"^ +\d+ +[\d.]+ +[1-9]\d*  "  # of a timeline, planes in use


def prepare(folder, built):
    global FOLDER, MRC_PERF, MRCLOG, MRCCTL
    FOLDER, MRC_PERF, MRCLOG, MRCCTL = folder, built["MRC_PERF"], built["MRCLOG"], built["MRCCTL"]


class Skipped(Exception):
    """The machine lacks a requirement of a test; the text names it. tests/harness/run_one.py prints it."""


def clean_environment(extra):
    """The caller's environment without its MRC_ settings, with ours. Processes of one host meet over the sockets, as those
    of different hosts do, unless TEST_SAME_HOST is set."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
    env["MRC_SAME_HOST"] = os.environ.get("TEST_SAME_HOST", "network")
    env.update(extra or {})
    return env


def free_port():
    with socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET) as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def config(text, name="mrc.yaml"):
    """Writes a configuration file; returns the environment that names it."""
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return {"MRC_CONFIG": path}


class Process:
    def __init__(self, args, env=None, prefix=()):
        self.args = [str(a) for a in args]
        self.process = subprocess.Popen([*prefix, MRC_PERF, *self.args], env=clean_environment(env),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.out = self.err = ""

    def err_until(self, pattern):
        """Reads what it says until that is among it. By the descriptor, for communicate() knows nothing of other buffers."""
        pipe, end = self.process.stderr.fileno(), time.monotonic() + LIMIT_S
        while not re.search(pattern, self.err, re.MULTILINE):
            ready, _, _ = select.select([pipe], [], [], max(0, end - time.monotonic()))
            assert ready, f"'{pattern}' does not come: {self}"
            said = os.read(pipe, 65536)
            assert said, f"ended without '{pattern}': {self}"
            self.err += said.decode(errors="replace")

    def wait(self, limit=LIMIT_S):
        """Exit code; fails the test when the process does not end."""
        try:
            self.out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.out, err = self.process.communicate()
            self.err += err
            raise AssertionError(f"did not end within {limit} s: {self}") from None
        self.err += err
        return self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()

    def __str__(self):
        return f"mrc-perf {' '.join(self.args)}: exit {self.process.returncode}\n{self.out[-3000:]}\n{self.err[-3000:]}"


class Pair:
    """A server and a client; `env` goes to both. `prefixes` are the words before the server's and the client's command,
    `host` is where the client finds the server."""

    def __init__(self, args, env=None, server_args=(), server_env=None, prefixes=((), ()), host="localhost"):
        self.port = free_port()
        self.server = Process(["--port", self.port, "--quiet", *server_args], env if server_env is None else server_env,
                              prefixes[0])
        self.client = Process([host, "--port", self.port, "--quiet", "--json", "-", *args], env, prefixes[1])

    def until_data_flows(self):
        """By the client's timeline."""
        self.client.err_until(ROW)

    def finish(self, limit=LIMIT_S):
        try:
            return self.client.wait(limit), self.server.wait(limit)
        finally:
            self.client.kill()
            self.server.kill()

    def report(self):
        return json.loads(self.client.out)


def succeed(args, env=None, **more):
    """Runs a pair that must end well on both sides; returns the client's report."""
    pair = Pair(args, env, **more)
    codes = pair.finish()
    assert codes == (0, 0), f"{pair.client}\n{pair.server}"
    report = pair.report()
    assert report["ok"] is True, pair.client
    return report


def verified(args, env=None, **more):
    """A run with verification: every message was compared and right."""
    report = succeed(["--verify", *args], env, **more)
    for size in report["sizes"]:
        assert size["mismatches"] == 0, size
        assert size["messages"] > 0 and size["checked"] == size["messages"], size
    return report


def refused(args, env=None, words=(), code=1):
    """A server that must refuse to run at all, with a message that holds the words."""
    process = Process(args, env)
    try:
        assert process.wait(20) == code, process
    finally:
        process.kill()
    text = process.err + process.out
    for word in words:
        assert word in text, f"'{word}' is missing in: {process}"
    return text
