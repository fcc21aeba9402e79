"""A port, a socket's name or a folder that another user has is named at warn level, with that user and the process."""
import json
import os
import signal
import socket

import built
import files
import skip
from environment import clean
from process import run

NOBODY = 65534
CONFIG = "devices: [{name: mrc0, planes: [{address: 127.0.0.1}]}]\n"
DAEMON = "mrc-test-squatter"


def said(level="warn", **variables):
    return run([built.path("MRC_INFO"), "--json"], clean({"MRC_CONFIG": files.at("mrc.yaml"), "MRC_MRCD_SOCKET": "", "MRC_PUBLISH": "",
                                                          "MRC_LOG": level, **variables}))


class Squatter:
    """A process of another user that does something and stays."""

    def __init__(self, take):
        ready, done = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                kept = take()
                os.write(done, b"1" if kept else b"0")
                while True:
                    signal.pause()
            finally:
                os._exit(1)
        os.close(done)
        assert os.read(ready, 1) == b"1"
        os.close(ready)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def bound(family, kind, address):
    def take():
        s = socket.socket(family, kind)
        s.bind(address)
        if kind != socket.SOCK_DGRAM:
            s.listen(8)
        return s
    return take


def expect(take, *texts, **variables):
    assert texts[0] not in said(**variables).stderr, "said without a reason"
    with Squatter(take) as squatter:
        err = said(**variables).stderr
        lines = [line for line in err.split("\n") if texts[0] in line]
        assert len(lines) == 1 and "warn" in lines[0], err
        for text in (*texts, f"taken by user {NOBODY}, process {squatter.pid}"):
            assert text in lines[0], (text, lines)
        assert texts[0] not in said("error", **variables).stderr


def test_squatters():
    skip.need_root("processes of another user")
    files.write("mrc.yaml", CONFIG)
    (device,) = json.loads(said().stdout)["devices"]
    plane = device["planes"][0]
    address, port = plane["address"], plane["port"]
    expect(bound(socket.AF_INET, socket.SOCK_DGRAM, (address, port)), "process slot 0", f"UDP port {port} of {address}")
    expect(bound(socket.AF_UNIX, socket.SOCK_SEQPACKET, f"\0mrc-local/{address}/{port}"), "no shared memory", f"port {port}")
    expect(bound(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + DAEMON), f"mrcd's socket @{DAEMON} is not used", MRC_MRCD_SOCKET="@" + DAEMON)
    own = files.at("mrc-0")
    os.mkdir(own, 0o700)
    assert own not in said(MRC_PUBLISH=files.at()).stderr
    os.chown(own, NOBODY, NOBODY)
    err = said(MRC_PUBLISH=files.at()).stderr
    assert f"warn: {own} cannot hold this process's counters, taken by user {NOBODY}" in err, err
