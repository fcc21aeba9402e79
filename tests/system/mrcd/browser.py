"""A page in headless Chromium, driven over the browser's debugging pipe (JSON, each message ended by a zero byte)."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from limits import LIMIT_S
from skip import need_program
from wait import until

READ, WRITE = 3, 4  # where the browser expects its ends of the pipes


class Page:
    def __init__(self, url, inside=()):
        program = shutil.which(need_program("chromium", "chromium"))
        self.folder = tempfile.TemporaryDirectory(prefix="mrc-page-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def give_pipes():
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, READ)
            os.dup2(b, WRITE)

        words = [*inside, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"]
        self.browser = subprocess.Popen(words, preexec_fn=give_pipes, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.kill()
        self.browser.wait(LIMIT_S)
        os.close(self.write_end)
        os.close(self.read_end)
        until(self.removed, f"processes of the browser still write to {self.folder.name}")

    def removed(self):
        try:
            self.folder.cleanup()
        except OSError:
            return False
        return True

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + LIMIT_S
        while True:
            while b"\0" not in self.buffer:
                ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
                assert ready, f"the browser does not answer to {method}"
                part = os.read(self.read_end, 1 << 16)
                assert part, "the browser has gone"
                self.buffer += part
            line, _, self.buffer = self.buffer.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")
