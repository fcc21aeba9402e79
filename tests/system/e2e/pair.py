"""A pair of mrc-perf processes, and what to expect of them."""
import json
import signal

import built
import environment
import files
import ports
from limits import LIMIT_S
from process import Process

ROW = r"^ +\d+ +[\d.]+ +[1-9]\d*  "  # of a timeline, planes in use


def settings_of(extra):
    """The environment of a program with these settings alone."""
    return environment.clean({**environment.same_host(), **(extra or {})})


def config(text, name="mrc.yaml"):
    """Writes a configuration file; returns the environment that names it."""
    return {"MRC_CONFIG": files.write(name, text)}


class Perf(Process):
    def __init__(self, args, env=None, prefix=()):
        super().__init__([*prefix, built.path("MRC_PERF"), *args], settings_of(env))


class Pair:
    """A server and a client; `env` goes to both. `prefixes` are the words before the server's and the client's command,
    `host` is where the client finds the server."""

    def __init__(self, args, env=None, server_args=(), server_env=None, prefixes=((), ()), host="localhost"):
        self.port = ports.free()
        self.server = Perf(["--port", self.port, "--quiet", *server_args], env if server_env is None else server_env,
                           prefixes[0])
        self.client = Perf([host, "--port", self.port, "--quiet", "--json", "-", *args], env, prefixes[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.no_report()

    def __str__(self):
        return f"{self.client}\n{self.server}"

    def until_data_flows(self):
        """By the client's timeline."""
        self.client.err_until(ROW)

    def finish(self, limit_s=LIMIT_S):
        try:
            return self.client.wait(limit_s), self.server.wait(limit_s)
        finally:
            self.kill()

    def no_report(self):
        self.client.no_report()
        self.server.no_report()

    def kill(self):
        """Both at once: neither may come to an orderly end because the other one is gone."""
        for process in (self.client, self.server):
            if not process.ended():
                process.signal(signal.SIGSTOP)
        self.client.kill()
        self.server.kill()

    def report(self):
        return json.loads(self.client.out)


def succeed(args, env=None, **more):
    """Runs a pair that must end well on both sides; returns the client's report."""
    pair = Pair(args, env, **more)
    assert pair.finish() == (0, 0), pair
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
    with Perf(args, env) as process:
        assert process.wait() == code, process
    text = process.err + process.out
    for word in words:
        assert word in text, f"'{word}' is missing in: {process}"
    return text
