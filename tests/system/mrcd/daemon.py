"""mrcd and applications for one test: everything in the test's own folder, nothing of the host's.

The device is the one on loopback with SRv6 paths that name no switch, so that entropy values have the same names in all
processes.
"""
import json
import os
import signal
import subprocess

import built
import environment
import files
from process import Process, run
from wait import until


def settings_of(**more):
    return environment.clean({
        "MRC_MRCD_SOCKET": files.at("mrcd.sock"), "MRC_MRCD_STATE": files.at("state.json"), "MRC_MRCD_HTTP": "",
        "MRC_CTL_GROUP": str(os.getegid()), "MRC_PUBLISH": "", "MRC_EV_MODE": "srv6", "MRC_SRV6_PATHS": "::/0 direct",
        "MRC_EV_COUNT": "16", "MRC_EV_BACKUPS": "0", **more})


class Daemon(Process):
    def __init__(self, *words, **env):
        self.env = settings_of(**env)
        super().__init__([built.path("MRCD"), *words], self.env)
        try:
            until(lambda: self.ended() or self.answers(), "mrcd does not answer")
            assert not self.ended(), f"mrcd ended with {self.wait()}: {self.err}"
        except BaseException:
            self.kill()
            raise

    def answers(self):
        return run([built.path("MRCCTL"), "show", "denies"], self.env, code=None).returncode == 0

    def end(self):
        self.signal(signal.SIGTERM)
        assert self.wait() == 0, f"mrcd ended with {self.code}: {self.err}"


class App(Process):
    """An application; each call is a line to it and the rest of its answer."""

    def __init__(self, inside=(), env=None, **settings):
        super().__init__([*inside, built.path("APP")], env or settings_of(**settings), stdin=subprocess.PIPE)
        self.lines = 0
        assert self.line() == "ready", self

    def line(self):
        self.lines += 1
        self.out_until(rf"\A(?:.*\n){{{self.lines}}}")
        return self.out.split("\n")[self.lines - 1].strip()

    def __call__(self, *words):
        text = " ".join(map(str, words))
        self.process.stdin.write(f"{text}\n".encode())
        self.process.stdin.flush()
        answer = self.line()
        assert answer.split(" ")[0] == str(words[0]), f"{text}: {answer}"
        return answer.partition(" ")[2]

    def end(self):
        """It closes its device at the end of its input, which wait() closes."""
        assert self.wait() == 0, self


def ctl(*words, code=0, **env):
    done = run([built.path("MRCCTL"), *words], settings_of(**env), code)
    return done.stdout if code == 0 else done.stdout + done.stderr


def ctl_json(*words, **options):
    return json.loads(ctl("--json", *words, **options))


def device():
    """The state of the first device that mrcd shares."""
    return ctl_json("show", "profiles")["devices"][0]


PROFILES = """
- {kind: format, id: 1, mode: STEV, fields: [16, 16]}
- kind: ev
  id: 5
  mode: explicit
  format: 1
  fields: [{width: 16, mask: 0xffff}, {width: 16}]
  min_active: 1
  events: [GOOD, ASSUMED_BAD]
  evs: [0001@1, 0001@2, 0001@3, {ev: 0001@4, state: DENIED}]
- {kind: cc, id: 2, algorithm: uet-1.0-nscc, config: {max_cwnd: 200000}}
"""
