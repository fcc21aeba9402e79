"""Profiles, denied paths and ports are shared by the processes of a host, and outlive every one of them."""
import json
import os
import signal
import socket

import built
import files
from daemon import App, Daemon, PROFILES, ctl, ctl_json, device, settings_of
from files import write
from limits import LIMIT_S
from process import Process, run
from skip import need, need_root
from wait import until

EBUSY, EINVAL, EIO = 16, 22, 5
ONLINE = 2


def profile(number):
    return next((p for p in device()["evs"] if p["id"] == number), None)


def test_a_controller_configures_and_applications_use_the_ids():
    """[MRC-MRCD-3] [MRC-MRCD-4] A later process gets them, too; a QP that holds one prevents its removal."""
    with Daemon(), App() as first:
        assert first("qp", 5, 0) == str(EINVAL)
        ctl("profile", "create", write("p.yaml", PROFILES))
        until(lambda: first("state", 5) == "2", "the application is not told")
        with App() as second:
            until(lambda: second("state", 5) == "2", "an application that starts is not told")
            assert second("entries", 5) == "3 0 1"
            assert second("qp", 5, 2) == "0" and second("write", 20) == "0"
            until(lambda: "QPs use it" in ctl("profile", "delete", "ev", 5, code=2), "it is not held")
        until(lambda: not any(p["pid"] == second.process.pid for p in ctl_json("show", "qps")["processes"]), "gone")
        ctl("profile", "delete", "ev", 5)
        until(lambda: first("state", 5) == "0", "the application is not told of the end")
        assert "exists already" in ctl("profile", "create", files.at("p.yaml"), code=2)
        assert f"cannot read {files.at()}: it is a folder" in ctl("profile", "create", files.at(), code=2)


def test_the_functions_of_the_api_go_to_all():
    """[MRC-MRCD-3] A controller is any process: what it calls holds when the call returns, here and there."""
    with Daemon(), App() as controller, App() as other:
        assert controller("auto", 9) == "0" and controller("state", 9) == "2"
        until(lambda: other("state", 9) == "2", "the other process is not told")
        assert other("qp", 9, 0) == "0"
        assert other("auto", 10) == "0"  # by the same connection: its holds have been reported before
        assert controller("offline", 9) == str(EBUSY)
        other("drop")
        until(lambda: controller("offline", 9) == "0", "it is still held")
        until(lambda: other("state", 9) == "1", "the other process is not told of the end")


def test_without_a_daemon_a_process_has_its_own():
    """[MRC-MRCD-1]"""
    with App() as alone, App() as other:
        assert alone("auto", 9) == "0" and alone("qp", 9, 0) == "0" and alone("write", 5) == "0"
        assert other("state", 9) == "0"
        assert "no mrcd answers" in ctl("show", "profiles", code=2)


def test_applications_survive_the_daemon_and_find_the_next():
    """[MRC-MRCD-1] [MRC-MRCD-7] Killed at any moment, it leaves nothing that keeps the next from starting."""
    with App() as app:
        with Daemon():
            ctl("profile", "create", write("p.yaml", PROFILES))
            ctl("port", "down", 3)
            ctl("ev", "deny", "--plane", 2, "--why", "a test")
            until(lambda: app("state", 5) == "2", "the application is not told")
            assert app("qp", 5, 2) == "0"
        # It was killed. Profiles stay, data flows, and no process changes its state alone.
        assert app("state", 5) == "2" and app("write", 20) == "0" and app("qp", 5, 0) == "0"
        until(lambda: app("auto", 9) == str(EIO), "a call goes through without a daemon")
        assert os.path.exists(files.at("mrcd.sock"))
        with Daemon() as second:
            assert profile(5)["state"] == "ONLINE" and profile(5)["entries"][3]["state"] == "DENIED"
            ports = ctl_json("show", "ports")["devices"][0]["ports"]
            assert [p["enabled"] for p in ports] == [True, True, False, True]
            assert ctl_json("show", "denies")["devices"][0]["denies"][0]["plane"] == 2
            until(lambda: app("auto", 9) == "0", "the application does not find the new daemon")
            # The QPs that it has are known to the new daemon.
            until(lambda: "QPs use it" in ctl("profile", "delete", "ev", 5, code=2), "it is not held")
            second.end()
        assert not os.path.exists(files.at("mrcd.sock"))


def test_killed_over_and_over():
    """[MRC-MRCD-1] [MRC-MRCD-7] Daemon and applications, in the middle of changes; the state is always a whole one."""
    ctl_profiles = write("p.yaml", PROFILES)
    for _ in range(4):
        with Daemon(), App() as app:
            if profile(5) is None:
                ctl("profile", "create", ctl_profiles)
            with Process(["sh", "-c", "while :; do $0 port down 2; $0 port up 2; done", built.path("MRCCTL")], settings_of(),
                         start_new_session=True) as changes:
                try:
                    until(lambda: app("port", 2) == "0", "the port does not go down")
                    until(lambda: app("port", 2) == "1", "the port does not come up")
                finally:
                    os.killpg(changes.pid, signal.SIGKILL)
        with open(files.at("state.json"), encoding="utf-8") as state:
            assert json.load(state)["version"] == 1


def test_a_child_does_not_keep_its_dead_parent_alive():
    with Daemon(), App() as app:
        child = int(app("fork"))
        try:
            app.signal(signal.SIGKILL)  # kill() would await the end of its output, which the child has, too
            until(app.ended, "a killed process does not end")
            until(lambda: not ctl_json("show", "qps")["processes"], "the daemon still takes it for there")
        finally:
            os.kill(child, signal.SIGKILL)


def test_one_instance():
    """[MRC-MRCD-1]"""
    with Daemon():
        second = run([built.path("MRCD")], settings_of(), code=1)
        assert "another mrcd" in second.stderr, second.stderr
        assert device()["evs"] == []


def test_ports_and_denies_reach_running_processes():
    """[MRC-MRCD-6] A plane that is denied carries nothing; what is allowed again does."""
    with Daemon(), App() as app:
        assert app("qp", 0, 0) == "0" and app("write", 20) == "0"

        def states(port):
            return {ev["state"] for ev in evs_of_the_first() if ev["port"] == port}

        ctl("ev", "deny", "--plane", 3)
        until(lambda: states(3) == {"DENIED"} and "DENIED" not in states(2), "the plane is not denied")
        before = sent(3)
        assert app("write", 100) == "0"
        assert sent(3) == before and sent(2) > 0
        assert "denied already" in ctl("ev", "deny", "--plane", 3, code=2)
        ctl("ev", "allow", "--plane", 3)
        until(lambda: states(3) == {"GOOD"}, "the plane is not allowed")
        ctl("ev", "deny", "--ev", "0x0002", "--plane", 1)
        until(lambda: "DENIED" in states(1) and "GOOD" in states(1), "the EV is not denied")
        ctl("ev", "allow", "--all")
        ctl("port", "down", 4)
        until(lambda: app("port", 4) == "0", "the port does not go down")
        assert app("write", 20) == "0"
        ctl("port", "up", 4)
        until(lambda: app("port", 4) == "1", "the port does not come up")


def test_a_deny_that_covers_no_path_is_refused():
    """[MRC-MRCD-6] In the words of the web page; what a device can have is not judged."""
    with Daemon():
        assert "has no plane 9: it has 1 to 4" in ctl("ev", "deny", "--plane", 9, code=2)
        assert "has no port 5: it has 1 to 4" in ctl("port", "down", 5, code=2)
        ctl("ev", "deny", "--via", "f101")
        assert "denied already: via f101" in ctl("ev", "deny", "--via", "f101", code=2)
    with Daemon(MRC_EV_MODE=None, MRC_SRV6_PATHS=None, MRC_MRCD_STATE=files.at("plain.json")):
        assert "goes via uSIDs: its ev_mode is udp_port" in ctl("ev", "deny", "--via", "f101", code=2)
        assert "has a flow label: its ev_mode is udp_port" in ctl("ev", "deny", "--ev", "0x0003", code=2)
        ctl("ev", "deny", "--ev", "49152")


def test_profiles_are_shown_with_what_they_say():
    with Daemon():
        ctl("profile", "create", write("p.yaml", PROFILES + """
- {kind: cc, id: 3, algorithm: uet-1.0-nscc}
- {kind: cc, id: 4, algorithm: uet-1.0-nscc, config: {eta: 0.1, disable_qa: true}}
"""))
        text = ctl("show", "profiles")
        for line in ("1 DENIED 3 GOOD\n    DENIED: 0001@4\n", "uet-1.0-nscc: max_cwnd 200000, the rest derived\n",
                     "uet-1.0-nscc: everything derived\n", "uet-1.0-nscc: disable_qa true, eta 0.1, the rest derived\n"):
            assert line in text, text
        configs = {cc["id"]: cc["config"] for cc in device()["ccs"]}
        assert configs[2]["max_cwnd"] == 200000 and configs[2]["eta"] == 0 and configs[4]["eta"] == 0.1, configs
        assert configs[4]["disable_qa"] is True and not any(configs[3].values()), configs


def test_congestion_control_algorithms_by_name():
    with Daemon():
        ctl("profile", "create", write("p.yaml", "- {kind: cc, id: 5, algorithm: swift}\n- {kind: cc, id: 6, algorithm: none}\n"))
        assert {cc["id"]: cc["algorithm"] for cc in device()["ccs"]} == {5: "swift", 6: "none"}
        said = ctl("profile", "create", write("q.yaml", "\n- {kind: cc, id: 7, algorithm: cubic}\n"), code=2)
        assert "q.yaml: line 2" in said and "'cubic' is no algorithm; allowed: none uet-1.0-nscc " in said, said
        said = ctl("profile", "create", write("q.yaml", "- {kind: cc, id: 7, algorithm: swift, config: {eta: 1}}\n"), code=2)
        assert "only uet-1.0-nscc has a configuration" in said, said


def test_watch_begins_with_a_rate():
    """Bytes of an interval already in the first round."""
    with Daemon(), App() as app:
        assert app("qp", 0, 0) == "0"
        with Process([built.path("MRCCTL"), "--json", "watch", "--rounds", "1"], settings_of()) as watch:
            while not watch.ended():
                assert app("write", 20) == "0"
            watch.wait()
        rows = json.loads(watch.out)["rows"]
        assert sum(row["tx_gbps"] for row in rows) > 0, rows


def test_the_state_of_a_daemon_replaces_what_there_was():
    """[MRC-MRCD-4] A port that the process has switched off by itself is up again when the daemon's state has it up."""
    with App() as app:
        assert app("disable", 2) == "0" and app("port", 2) == "0"
        with Daemon():
            until(lambda: app("port", 2) == "1", "it stays down")


def test_a_false_daemon_ends_no_process():
    """Garbage, nesting without end, wrong types, a line that never ends, silence: the application goes on."""
    lines = [b"\xff\x00garbage\n", b"[1,2]\n", b'{"state":5}\n', b'{"want":' + b"[" * 100000 + b"]" * 100000 + b"}\n",
             b'{"call":{"kind":[]}}\n', b'{"denies":{"a":1}}\n', b'{"ports_down":["x"]}\n',
             b'{"path":{"ev":"zz","port":-1}}\n', b'{"answer":1,"error":"x"}\n', b'{"answer":18446744073709551615}\n',
             b"x" * (70 << 20)]
    with socket.socket(socket.AF_UNIX) as fake:
        fake.bind(files.at("mrcd.sock"))
        fake.listen()
        fake.settimeout(LIMIT_S)
        with App() as app:
            for line in lines:
                link, _ = fake.accept()
                with link:
                    link.settimeout(LIMIT_S)
                    try:
                        link.sendall(line)
                    except OSError:
                        assert len(line) > 1 << 20  # cut off
                assert app("port", 1) == "1"
            assert app("qp", 0, 0) == "0" and app("write", 20) == "0"


def evs_of_the_first():
    """Of all its peers. A process that is too busy to report in time is asked again."""
    found = []

    def reported():
        found[:] = ctl_json("show", "evs")["processes"][:1]
        return found
    until(reported, "the process does not report")
    return [ev for peer in found[0]["peers"] for ev in peer["evs"]]


def sent(port):
    """Data bytes that the first process has sent over the EVs of a port."""
    return sum(ev["tx_bytes"] for ev in evs_of_the_first() if ev["port"] == port)


def test_a_bad_path_of_one_process_is_reported_to_the_controller():
    """[MRC-MRCD-5]"""
    with Daemon(), App() as controller, App(MRC_FAULT="ev=1:blackhole") as app:
        assert controller("auto", 9) == "0" and controller("events") == "1"
        until(lambda: app("state", 9) == "2", "the application is not told")
        assert app("qp", 9, 0) == "0" and app("write", 200) == "0"
        # On a busy machine other paths may appear bad for a moment, and become good again; the failed one never does.
        until(lambda: controller("poll") == "9 2", "no event came")
        until(lambda: controller("entries", 9).split()[1] == "1", "the controller is not told of the one bad path")


def test_denies_and_replacements_within_a_profile():
    with Daemon(), App() as app:
        ctl("profile", "create", write("p.yaml", PROFILES))
        until(lambda: app("entries", 5) == "3 0 1", "the application is not told")
        ctl("ev", "deny", "--profile", 5, "--entry", "0001@1")
        until(lambda: app("entries", 5) == "2 0 2", "no deny")
        ctl("ev", "allow", "--profile", 5, "--entry", "0001@4")
        until(lambda: app("entries", 5) == "3 0 1", "no allow")
        ctl("ev", "replace", 5, "0001@2", "0003@2")
        assert "no such EV" in ctl("ev", "deny", "--profile", 5, "--entry", "0001@2", code=2)
        assert [e["ev"] for e in profile(5)["entries"]] == ["0001@1", "0003@2", "0001@3", "0001@4"]
        ctl("profile", "modify", write("m.yaml", "- {kind: ev, id: 5, min_active: 2}\n"))
        assert profile(5)["min_active"] == 2 and profile(5)["state"] == "ONLINE"


def test_a_user_without_the_right_is_refused():
    """[MRC-MRCD-2]"""
    need_root("processes of another user")
    os.chmod(files.at(), 0o755)
    nobody = 65534
    with Daemon(MRC_CTL_GROUP="1"):
        def as_nobody(*words, group, code=0):
            return run([built.path("MRCCTL"), *words], settings_of(), code, user=nobody, group=group, extra_groups=[])
        assert "CAP_NET_ADMIN" in as_nobody("port", "down", "1", group=nobody, code=2).stderr
        as_nobody("show", "profiles", group=nobody)
        as_nobody("port", "down", "1", group=1)


def test_root_of_a_user_namespace_is_unprivileged():
    """[MRC-MRCD-2] Any user may have one, with every capability in it."""
    need_root("processes of another user")
    os.chmod(files.at(), 0o755)

    def as_root_of_its_own(*words):
        return run(["unshare", "--user", "--map-root-user", *words], settings_of(), code=None, user=65534, group=65534, extra_groups=[])
    need(as_root_of_its_own("true").returncode == 0, "this machine refuses user namespaces to its users")
    with Daemon(MRC_CTL_GROUP="1"):
        refused = as_root_of_its_own(built.path("MRCCTL"), "port", "down", "1")
        assert refused.returncode == 2 and "CAP_NET_ADMIN" in refused.stderr, refused
        assert all(p["enabled"] for p in ctl_json("show", "ports")["devices"][0]["ports"])
