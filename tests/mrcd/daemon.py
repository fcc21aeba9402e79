"""mrcd and applications for one test: everything in the test's own folder, nothing of the host's.

The device is the one on loopback with SRv6 paths that name no switch, so that entropy values have the same names in all
processes. prepare() is told where the programs are.
"""
import json
import os
import select
import signal
import subprocess
import time

from limits import LIMIT_S

MRCD = MRCCTL = APP = ""
FOLDER = "."


def prepare(folder, built):
    global FOLDER, MRCD, MRCCTL, APP
    FOLDER, MRCD, MRCCTL, APP = folder, built["MRCD"], built["MRCCTL"], built["APP"]


class Skipped(Exception):
    """The machine lacks a requirement of a test; the text names it. tests/harness/run_one.py prints it."""


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
    env.update({"MRC_MRCD_SOCKET": os.path.join(FOLDER, "mrcd.sock"), "MRC_MRCD_STATE": os.path.join(FOLDER, "state.json"),
                "MRC_MRCD_HTTP": "", "MRC_CTL_GROUP": str(os.getegid()), "MRC_PUBLISH": "", "MRC_EV_MODE": "srv6",
                "MRC_SRV6_PATHS": "::/0 direct", "MRC_EV_COUNT": "16", "MRC_EV_BACKUPS": "0"})
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


def until(done, what, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class Daemon:
    def __init__(self, *words, **env):
        self.env = environment(**env)
        self.process = subprocess.Popen([MRCD, *words], env=self.env, stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: self.process.poll() is not None or self.answers(), "mrcd does not answer")
            assert self.process.poll() is None, self.process.stderr.read()
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def answers(self):
        return subprocess.run([MRCCTL, "show", "denies"], env=self.env, capture_output=True, timeout=LIMIT_S,
                              check=False).returncode == 0

    def kill(self):
        self.process.kill()
        self.process.wait(LIMIT_S)
        self.process.stderr.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(LIMIT_S)
        assert status == 0, f"mrcd ended with {status}: {self.process.stderr.read()}"
        self.process.stderr.close()


class App:
    """An application; each call is a line to it and the rest of its answer."""

    def __init__(self, inside=(), env=None, **settings):
        self.process = subprocess.Popen([*inside, APP], env=env or environment(**settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        assert self.line() == "ready"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
        assert ready, "the application does not answer"
        return self.process.stdout.readline().strip()

    def __call__(self, *words):
        text = " ".join(map(str, words))
        self.process.stdin.write(text + "\n")
        answer = self.line()
        assert answer.split(" ")[0] == str(words[0]), f"{text}: {answer}"
        return answer.partition(" ")[2]

    def end(self):
        """It closes its device."""
        self.process.stdin.close()
        assert self.process.wait(LIMIT_S) == 0

    def kill(self):
        self.process.kill()
        self.process.wait(LIMIT_S)
        self.process.stdin.close()
        self.process.stdout.close()


def ctl(*words, code=0, **env):
    done = subprocess.run([MRCCTL, *map(str, words)], env=environment(**env), capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    assert done.returncode == code, f"mrcctl {words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stdout + done.stderr


def ctl_json(*words, **options):
    return json.loads(ctl("--json", *words, **options))


def device():
    """The state of the first device that mrcd shares."""
    return ctl_json("show", "profiles")["devices"][0]


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


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
