"""mrcd with its monitor on hosts of a lab: what it names and what it denies, while transfers run beside it.

The socket is an abstract name, which each host's network namespace has for itself, so that a program on the host finds its
own daemon by the environment that `settings` gives.
"""
import json
import os
import subprocess
import time

RATE = 100  # probes a second on each path: 400 of them, which is what a path is judged by, take 4 s
LIMIT_S = 60


def settings(extra=None):
    """For every program on a watched host."""
    return {"MRC_MRCD_SOCKET": "@mrcd", **(extra or {})}


class Watch:
    """`inside(host)` gives the words that run a program there; the daemons' files go to `folder`. Whatever is waited for comes within
    `limit_s`."""

    def __init__(self, inside, mrcd, mrcctl, folder, hosts, env, limit_s=LIMIT_S):
        self.inside, self.mrcctl, self.env, self.limit_s = inside, mrcctl, env | settings(), limit_s
        self.daemons = {}
        addresses = {host: self._words(host, "getent", "hosts", host).split()[0] for host in hosts}
        try:
            for host in hosts:
                others = " ".join(addresses[other] for other in hosts if other != host)
                own = {"MRC_MRCD_STATE": os.path.join(folder, host + ".json"), "MRC_MRCD_HTTP": "", "MRC_MRCD_PEERS": others,
                       "MRC_MRCD_PROBE_RATE": str(RATE)}
                self.daemons[host] = subprocess.Popen([*inside(host), mrcd], env=self.env | own, stdin=subprocess.DEVNULL,
                                                      stderr=subprocess.PIPE, text=True)
            for host in hosts:
                self.until(lambda host=host: self.answers(host), f"mrcd on {host} does not answer")
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.communicate()

    def until(self, condition, words):
        """Seconds until it holds. `words`: the failure's text, or a function that returns it."""
        begin = time.monotonic()
        while not condition():
            for host, daemon in self.daemons.items():
                if daemon.poll() is not None:
                    raise AssertionError(f"mrcd on {host} ended with {daemon.returncode}: {daemon.stderr.read()}")
            if time.monotonic() - begin > self.limit_s:
                raise AssertionError(words() if callable(words) else words)
            time.sleep(0.02)
        return time.monotonic() - begin

    def answers(self, host):
        return self._run(host, self.mrcctl, "--json", "show", "monitor").returncode in (0, 1)

    def peers(self, host):
        """Other daemons whose messages this one receives."""
        return self._ask(host, "monitor")["peers"]

    def findings(self, host):
        return [f["text"].partition(" (")[0] for f in self._ask(host, "monitor")["findings"]]

    def denies(self, host):
        """(plane, uSIDs) that paths are denied by."""
        return [(d["plane"], d.get("via", "")) for d in self._ask(host, "denies")["devices"][0]["denies"]]

    def _ask(self, host, what):
        return json.loads(self._run(host, self.mrcctl, "--json", "show", what).stdout)

    def _words(self, host, *words):
        done = self._run(host, *words)
        if done.returncode != 0:
            raise RuntimeError(f"{host}: {words}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def _run(self, host, *words):
        return subprocess.run([*self.inside(host), *words], env=self.env, capture_output=True, text=True, timeout=self.limit_s,
                              check=False)
