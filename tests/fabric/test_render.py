"""Rendered configuration, given to those who are to read it: SONiC's schema, FRR, a shell, the kernel, MRC itself."""
import copy
import glob
import json
import os
import pwd
import re
import shutil
import subprocess
import time

import lab
from lab import LIMIT_S, TWO, Lab, environment, need, tool, write
from sonic_schema import complaints

ECMP = "switch: {forwarding: ecmp}\n"


def rendered(folder, *formats, text=TWO):
    out = os.path.join(lab.FOLDER, folder)
    tool("render", write("fabric.yaml", text), *formats, "-o", out)
    return out


def test_sonic_follows_the_schema():
    for number, more in enumerate(("", ECMP, "switch: {trimming: false}\n", "switch: {trimmed_share: 1}\n")):
        files = glob.glob(rendered(str(number), "--sonic", text=TWO + more) + "/*.json")
        assert len(files) == 8, files
        for name in files:
            with open(name, encoding="utf-8") as file:
                db = json.load(file)
            assert complaints(db) == [], (name, complaints(db))
            assert ("SWITCH_TRIMMING" in db) == ("trimming: false" not in more)


def test_the_schema_can_complain():
    with open(glob.glob(rendered("sonic", "--sonic") + "/p0-t0-0.*")[0], encoding="utf-8") as file:
        good = json.load(file)

    def spoilt(table, key, field, value):
        db = copy.deepcopy(good)
        db[table][key][field] = value
        return complaints(db)

    assert spoilt("PORT", "Ethernet0", "speed", 100000)  # a number instead of text
    assert spoilt("PORT", "Ethernet0", "spede", "1")
    assert spoilt("QUEUE", "Ethernet0|3", "scheduler", "NOBODY")
    assert spoilt("SRV6_MY_SIDS", "MRC|fcbb:bb00:400::/48", "action", "uX")
    assert spoilt("STATIC_ROUTE", "default|fcbb:bb00:800::/48", "ifname", "Ethernet999")
    assert complaints({"PORTS": {}})


def test_shell_scripts_parse():
    for name in glob.glob(rendered("linux", "--linux") + "/*.sh"):
        subprocess.run(["sh", "-n", name], check=True, timeout=LIMIT_S)


def test_a_script_configures_a_bare_node():
    """The same node, made by hand and told by its script alone, forwards as the lab's own does. Twice: it may run again."""
    with Lab() as two:
        script = os.path.join(rendered("linux", "--linux"), "p0-t1-0.sh")
        for port in ("t0-0", "t0-1", "usid", "lo"):
            two.run("p0-t1-0", "ip", "link", "set", port, "down")
        two("trace", "h0", "h3", "0/0", "--wait", "50", code=1)
        for _ in range(2):
            two.run("p0-t1-0", "sh", script)
            two("trace", "h0", "h3", "0/0")


def need_frr():
    need(shutil.which("vtysh") and os.path.exists("/usr/lib/frr/staticd"), "FRR is missing (apt-get install frr)")


def without_segments(text):
    """FRR before 10.2 has no static-sids; that stanza is the last one."""
    return text[:text.index("segment-routing\n")] + "end\n"


def test_frr_reads_every_switch():
    need_frr()
    for text in (TWO, TWO + ECMP):
        for name in glob.glob(rendered("frr" + str(len(text)), "--frr", text=text) + "/*.conf"):
            with open(name, encoding="utf-8") as file:
                write("frr.conf", without_segments(file.read()))
            done = subprocess.run(["vtysh", "-C", "-f", os.path.join(lab.FOLDER, "frr.conf"), "--config_dir", lab.FOLDER],
                                  capture_output=True, text=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 0 and "Unknown" not in done.stdout + done.stderr, (name, done)


def frr_user():
    try:
        return pwd.getpwnam("frr").pw_uid
    except KeyError:
        return need(False, "there is no user frr, to which its daemons change")


def wait_for_file(path):
    end = time.monotonic() + LIMIT_S
    while not os.path.exists(path):
        assert time.monotonic() < end, path + " does not appear"
        time.sleep(0.05)


def test_frr_forwards_in_place_of_our_routes():
    """A T0 whose static routes are those of FRR alone: zebra and staticd with the rendered file. The segment itself stays
    the kernel's, since this FRR may be too old for it."""
    need_frr()
    uid = frr_user()
    with Lab() as two:
        with open(os.path.join(rendered("frr", "--frr"), "p0-t0-0.frr.conf"), encoding="utf-8") as file:
            conf = write("frr.conf", without_segments(file.read()))
        os.chmod(lab.FOLDER, 0o755)
        sockets = os.path.join(lab.FOLDER, "sockets")
        os.makedirs(sockets)
        os.chown(sockets, uid, -1)
        for route in two.run("p0-t0-0", "ip", "-6", "route").splitlines():
            if " via " in route or route.startswith("blackhole"):
                words = route.split()
                two.run("p0-t0-0", "ip", "-6", "route", "del", *words[:2 if words[0] == "blackhole" else 1])
        two("trace", "h0", "h3", "0/1", "--wait", "50", code=1)
        empty = write("empty.conf", "")
        daemons = []
        try:
            for name in ("zebra", "staticd"):
                daemons.append(subprocess.Popen(
                    [*two.inside("p0-t0-0"), "/usr/lib/frr/" + name, "-f", empty, "-z", sockets + "/zserv.api", "-i",
                     f"{sockets}/{name}.pid", "--vty_socket", sockets, "-A", "::1", "-P", "0", "--log", "stdout"],
                    env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                wait_for_file(f"{sockets}/{name}.vty")
            two.run("p0-t0-0", "vtysh", "--config_dir", lab.FOLDER, "--vty_socket", sockets, "-f", conf)
            end = time.monotonic() + LIMIT_S
            while len(re.findall(" proto static", two.run("p0-t0-0", "ip", "-6", "route"))) < 9:
                assert time.monotonic() < end, two.run("p0-t0-0", "ip", "-6", "route")
                assert all(d.poll() is None for d in daemons), "a daemon has ended"
                time.sleep(0.1)
            two("trace", "h0", "h3", "all")
            two("trace", "h3", "h0", "all")
        finally:
            for daemon in daemons:
                daemon.terminate()
                daemon.wait(LIMIT_S)


def test_drawing_names_every_switch_and_host():
    drawing = tool("render", write("fabric.yaml", TWO), "--dot").stdout
    for name in ("h0", "h3", "p0-t0-1", "p1-t1-1"):
        assert name in drawing
    assert drawing.count(" -- ") == 16
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", os.devnull], input=drawing, text=True, check=True, timeout=LIMIT_S)


def unprivileged(*words):
    """As a user who may do nothing; the program is copied to where that user can read it."""
    copy_of = os.path.join(lab.FOLDER, "mrc-fabric")
    shutil.copy(lab.MRC_FABRIC, copy_of)
    os.chmod(lab.FOLDER, 0o755)
    os.chmod(copy_of, 0o755)
    more = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run([copy_of, *words], env=environment(), capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, **more)


def test_who_is_not_root_is_told_what_works():
    for words in (("up", "tiny"), ("down", "--lab", "x"), ("exec", "h0", "--", "true"), ("fault", "list"), ("status",)):
        done = unprivileged(*words)
        assert done.returncode == 1 and "needs root" in done.stderr and "sudo" in done.stderr, done
    assert unprivileged("trace", "--fabric", "tiny", "h0", "h7").returncode == 0
    assert unprivileged("render", "tiny", "--hosts", "--node", "h0").returncode == 0
    assert json.loads(unprivileged("list", "--json").stdout) == []


def test_refusals():
    wrong = write("wrong.yaml", "planes: 2\nplains: 3\n")
    done = tool("render", wrong, "--dot", code=2)
    assert "wrong.yaml:2: unknown key 'plains'" in done.stderr, done
    assert "allowed here: srv6, ecmp" in tool("render", write("s.yaml", "switch: {forwarding: stev}\n"), "--linux", code=2).stderr
    nosuch = tool("render", "tyny", "--dot", code=2).stderr
    assert nosuch.startswith("mrc-fabric: 'tyny' is neither a file nor a built-in fabric; those are tiny, "), nosuch
    assert tool("render", "./tyny", "--dot", code=2).stderr == "mrc-fabric: ./tyny: cannot be read\n"
    for words, text in ((("h0", "h99"), "there is no node 'h99'"), (("h0", "h7", "9/1"), "allowed: PLANE/T1"),
                        (("h0", "p0-t0-0"), "is not a host"), (("h0", "h0"), "the same host"),
                        (("h0", "h7", "::zz"), "is not an IPv6 address")):
        assert text in tool("trace", "--fabric", "tiny", *words, code=2).stderr, words
    assert "has no file" in tool("render", "tiny", "--frr", "--node", "h0", code=2).stderr
    assert "render what?" in tool("render", "tiny", code=2).stderr
    assert tool("up", code=2).stderr
    lab.need_lab()
    assert "mrc-sim simulates it" in tool("up", "full131072", code=1).stderr
    assert "no lab is up" in tool("status", code=1).stderr
    assert "allowed: a letter" in tool("up", "tiny", "--lab", "../x", code=2).stderr
