"""Start and end of mrcd."""
import json
import os
import signal
import socket

import built
import files
from daemon import App, Daemon, ctl, settings_of
from limits import LIMIT_S
from process import run
from wait import until

LONG = "x" * (5 << 20)  # longer than what the kernel holds of an answer that is not read
HTTP_PORT = 9418


def answer_to(link, message):
    """All that comes until the daemon has ended; begins before, so that the answer is under way when it is told to end."""
    link.sendall(message)
    assert (first := link.recv(1)), "no answer"

    def rest():
        got = [first]
        try:
            while part := link.recv(1 << 20):
                got.append(part)
        except ConnectionResetError:
            pass
        return b"".join(got)
    return rest


def test_answers_that_are_under_way_at_the_end_arrive():
    """On SIGTERM: at the socket and over HTTP."""
    with Daemon(MRC_MRCD_HTTP=f"127.0.0.1:{HTTP_PORT}") as mrcd, socket.socket(socket.AF_UNIX) as link, \
            socket.socket() as client:
        link.settimeout(LIMIT_S)
        link.connect(files.at("mrcd.sock"))
        link.sendall(json.dumps({"request": 1, "do": "deny", "rule": {"plane": 1, "why": LONG}}).encode() + b"\n")
        assert json.loads(link.recv(4096))["error"] == 0
        client.settimeout(LIMIT_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.connect(("127.0.0.1", HTTP_PORT))
        page = answer_to(client, b"GET /api/state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        show = answer_to(link, b'{"request": 2, "do": "show"}\n')
        mrcd.signal(signal.SIGTERM)
        # It has received the signal: it accepts no more connections.
        until(lambda: mrcd.ended() or refuses_clients(), "it does not end")
        header, _, body = page().partition(b"\r\n\r\n")
        assert int(header.lower().split(b"content-length: ")[1].split()[0]) == len(body), header
        shown = show()
        assert shown.endswith(b"\n") and json.loads(shown)["answer"] == 2, len(shown)
        assert mrcd.wait() == 0


def refuses_clients():
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", HTTP_PORT)) != 0


def test_a_client_that_does_not_read_does_not_keep_it():
    with Daemon() as mrcd, socket.socket(socket.AF_UNIX) as link:
        link.connect(files.at("mrcd.sock"))
        link.sendall(json.dumps({"request": 1, "do": "deny", "rule": {"plane": 1, "why": LONG}}).encode() + b"\n")
        answer_to(link, b'{"request": 2, "do": "show"}\n')
        mrcd.end()


def test_a_folder_that_is_not_there_is_not_made():
    """[MRC-MRCD-1] [MRC-MRCD-7] A path may be mistyped: refused, with what to do. That of the defaults is made."""
    missing = files.at("missing/")
    for word, setting in (("--socket", "mrcd_socket"), ("--state", "state of mrcd")):
        done = run([built.path("MRCD"), word, missing + "x"], settings_of(), code=2)
        assert f"mkdir -p {missing}" in done.stderr, done
        assert word in done.stderr and f"the setting {setting}" in done.stderr, done.stderr
        assert not os.path.exists(missing)
        assert not os.path.exists(files.at("mrcd.sock"))
    with Daemon():
        assert "denies" in ctl("--json", "show", "denies")


def test_the_section_of_the_configuration_file_is_checked_by_mrcd_alone():
    """[MRC-MRCD-8] An application opens its devices with any content of the section; mrcd names file, line and key."""
    def refusal(text):
        path = files.write("mrc.yaml", text)
        return run([built.path("MRCD")], settings_of(MRC_CONFIG=path), code=2).stderr.partition(path)[2]

    assert refusal("mrcd:\n  state: x\n  probe_rat: 1\n").startswith(
        ":3: unknown key 'probe_rat', did you mean 'probe_rate'? Allowed: state, http,")
    with App(MRC_CONFIG=files.at("mrc.yaml")):
        pass
    assert refusal("mrcd: {probe_share: 2}\n").startswith(":1: key 'probe_share': value is '2', allowed: 0..1")
    assert refusal("mrcd_probe_rate: 1\n").startswith(
        ":1: key 'mrcd_probe_rate' has been replaced by mrcd: {probe_rate: NUMBER}")
    state = files.at("of_the_section.json")
    good = files.write("mrc.yaml", f"mrcd:\n  state: {state}\n")
    with Daemon(MRC_CONFIG=good, MRC_MRCD_STATE=None) as mrcd:
        ctl("ev", "deny", "--plane", "2")
        mrcd.end()
    assert os.path.exists(state)
