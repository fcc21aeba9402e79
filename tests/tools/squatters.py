"""A port, a socket's name or a folder that another user has is named at warn level, with that user and the process.

usage: squatters.py MRC_INFO
Exit status 77: only root can play another user.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

NOBODY = 65534
SKIPPED = 77
(mrc_info,) = sys.argv[1:]
clean = {name: value for name, value in os.environ.items() if not name.startswith("MRC_")}
daemon_name = f"mrc-test-squatter-{os.getpid()}"


def said(level="warn", **variables):
    environment = {**clean, "MRC_MRCD_SOCKET": "", "MRC_PUBLISH": "", "MRC_LOG": level, **variables}
    ran = subprocess.run([mrc_info, "--json"], env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran


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


def main():
    if os.geteuid() != 0:
        print("skipped: only root can play another user")
        return SKIPPED
    # An address that no other test has: with theirs, another process may have the first slot.
    config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
    config.write("devices: [{name: mrc0, planes: [{address: 127.77.7.1}]}]\n")
    config.flush()
    clean["MRC_CONFIG"] = config.name
    (device,) = json.loads(said().stdout)["devices"]
    plane = device["planes"][0]
    address, port = plane["address"], plane["port"]
    expect(bound(socket.AF_INET, socket.SOCK_DGRAM, (address, port)), "process slot 0", f"UDP port {port} of {address}")
    expect(bound(socket.AF_UNIX, socket.SOCK_SEQPACKET, f"\0mrc-local/{address}/{port}"), "no shared memory", f"port {port}")
    expect(bound(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + daemon_name), f"mrcd's socket @{daemon_name} is not used",
           MRC_MRCD_SOCKET="@" + daemon_name)
    folder = tempfile.mkdtemp(prefix="mrc-test-")
    try:
        own = os.path.join(folder, "mrc-0")
        os.mkdir(own, 0o700)
        assert own not in said(MRC_PUBLISH=folder).stderr
        os.chown(own, NOBODY, NOBODY)
        err = said(MRC_PUBLISH=folder).stderr
        assert f"warn: {own} cannot hold this process's counters, taken by user {NOBODY}" in err, err
    finally:
        shutil.rmtree(folder)
    return 0


sys.exit(main())
