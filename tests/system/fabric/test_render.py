"""Rendered configuration, given to those who are to read it: SONiC's schema, FRR, a shell, the kernel, MRC itself."""
import copy
import glob
import json
import os
import pwd
import re
import shutil
import signal

import built
import files
import frr_grammar
import process
from files import write
from lab import LIMIT_S, TWO, Lab, environment, need_lab, run, tool, until
from skip import need
from sonic_schema import complaints, crossing, mark, trimmed_queues

ECMP = "switch: {forwarding: ecmp}\n"


def rendered(folder, *formats, text=TWO):
    out = files.at(folder)
    tool("render", write("fabric.yaml", text), *formats, "-o", out)
    return out


def test_sonic_follows_the_schema():
    for number, more in enumerate(("", ECMP, "switch: {trimming: false}\n", "switch: {trimmed_share: 1}\n")):
        names = glob.glob(rendered(str(number), "--sonic", text=TWO + more) + "/*.json")
        assert len(names) == 8, names
        for name in names:
            with open(name, encoding="utf-8") as file:
                db = json.load(file)
            assert complaints(db) == [], (name, complaints(db))
            assert ("SWITCH_TRIMMING" in db) == ("trimming: false" not in more)


def test_the_schema_can_complain():
    with open(glob.glob(rendered("sonic", "--sonic") + "/p0-t0-0.*json")[0], encoding="utf-8") as file:
        good = json.load(file)

    def spoilt(table, key, field, value):
        db = copy.deepcopy(good)
        db[table][key][field] = value
        return complaints(db)

    assert complaints(good) == []
    assert spoilt("PORT", "Ethernet0", "speed", 100000)  # a number instead of text
    assert spoilt("PORT", "Ethernet0", "spede", "1")
    assert spoilt("QUEUE", "Ethernet0|3", "scheduler", "NOBODY")
    assert spoilt("SRV6_MY_SIDS", "MRC|fcbb:bb00:400::/48", "action", "uX")
    assert spoilt("SRV6_MY_SIDS", "MRC|fcbb:bb00:400::/48", "action", "uA")  # without an interface
    assert spoilt("SRV6_MY_LOCATORS", "MRC", "prefix", "fcbb:bb00:401::")
    assert spoilt("SRV6_MY_LOCATORS", "MRC", "arg_len", "65")
    assert not spoilt("SRV6_MY_LOCATORS", "MRC", "arg_len", "64")
    assert spoilt("STATIC_ROUTE", "default|fcbb:bb00:800::/48", "ifname", "Ethernet999")
    for size, wrong in (("252", True), ("256", False), ("258", True), ("4084", False), ("4088", True)):
        assert bool(spoilt("SWITCH_TRIMMING", "GLOBAL", "size", size)) == wrong, size
    assert spoilt("SWITCH_TRIMMING", "GLOBAL", "dscp_value", "12")  # symmetric, and a class
    assert spoilt("SWITCH_TRIMMING", "GLOBAL", "tc_value", "2")  # no port has a mark for it
    assert spoilt("SWITCH_TRIMMING", "GLOBAL", "queue_index", "3")  # trimmed packets would be trimmed
    assert spoilt("BUFFER_POOL", "egress_lossy_pool", "mode", "dynamic")  # with thresholds in bytes
    assert spoilt("BUFFER_PROFILE", "MRC_FABRIC", "pool", "egress_pool")
    assert spoilt("BUFFER_PROFILE", "MRC_FABRIC", "dynamic_th", "8")
    assert spoilt("WRED_PROFILE", "MRC_ECN", "green_max_threshold", "1")
    assert spoilt("SCHEDULER", "MRC_DATA", "cbs", "1")
    assert spoilt("PORT_QOS_MAP", "Ethernet0", "tc_to_dscp_map", "NO_MAP")
    assert complaints({"PORTS": {}})
    assert complaints({**good, "BUFFER_POOL": {}})


def profiles_of(db, port):
    return {int(key.split("|")[1]): row["profile"] for key, row in db["BUFFER_QUEUE"].items() if key.startswith(port + "|")}


def test_a_receiver_can_tell_the_last_hop():
    """[MRC-SONIC-1] [MRC-SONIC-3..5] On every port of every switch, through the maps as a switch applies them."""
    for name in glob.glob(rendered("sonic", "--sonic") + "/*.json"):
        with open(name, encoding="utf-8") as file:
            db = json.load(file)
        trimming = db["SWITCH_TRIMMING"]["GLOBAL"]
        own = int(trimming["queue_index"])
        assert trimming["dscp_value"] == "from-tc"
        for port, facts in db["PORT"].items():
            to_host = facts["alias"].startswith("h")
            assert mark(db, port) == (16 if to_host else 12), (name, port)
            trimmed = [q for p, q in trimmed_queues(db) if p == port]
            assert trimmed == [crossing(db, port, 4)[0]] == [crossing(db, port, 8)[0]], (name, port)
            assert crossing(db, port, 12) == (own, 12), (name, port)  # trimmed upstream: queue of its kind, mark as it was
            assert not to_host or crossing(db, port, 16) == (own, 16), (name, port)
            for dscp in (0, 4, 8, 46, 63):
                queue, after = crossing(db, port, dscp)
                assert after == dscp and queue != own and queue in profiles_of(db, port), (name, port, dscp)
            assert own in profiles_of(db, port) and crossing(db, port, 0)[0] not in trimmed, (name, port)


def test_the_trim_size_is_one_that_sonic_takes():
    """[MRC-SONIC-2]"""
    for number, (trim_bytes, size) in enumerate(((64, "256"), (256, "256"), (257, "260"), (1024, "1024"))):
        text = TWO + f"switch: {{trim_bytes: {trim_bytes}}}\n"
        with open(rendered(str(number), "--sonic", text=text) + "/p0-t0-0.config_db.json", encoding="utf-8") as file:
            assert json.load(file)["SWITCH_TRIMMING"]["GLOBAL"]["size"] == size


def test_every_value_for_sonic_has_a_reason():
    """[MRC-SONIC-7] One line per value beside the file; none in it, since SONiC refuses what it does not know."""
    for name in glob.glob(rendered("sonic", "--sonic") + "/*.json"):
        with open(name, encoding="utf-8") as file, open(name + ".txt", encoding="utf-8") as reasons:
            db, lines = json.load(file), reasons.read().splitlines()
        values = [f"{table}|{key}" + (f" {field} = {value}" if field else "") for table, rows in db.items()
                  for key, row in rows.items() for field, value in (row or {"": ""}).items()]
        assert [line.split("  # ")[0] for line in lines] == values, name
        assert all(len(line.split("  # ")[1]) > 3 for line in lines), name
    printed = tool("render", "tiny", "--sonic", "--node", "p0-t0-0")  # to the terminal: the file alone, whole
    assert "SWITCH_TRIMMING" in json.loads(printed.stdout)


def test_shell_scripts_parse():
    scripts = glob.glob(rendered("linux", "--linux") + "/*.sh")
    assert scripts
    for name in scripts:
        run(["sh", "-n", name])


def test_a_script_configures_a_bare_node():
    """The same node, made by hand and told by its script alone, forwards as the lab's own does. Twice: it may run again."""
    with Lab() as two:
        script = os.path.join(rendered("linux", "--linux"), "p0-t1-0.sh")
        for port in ("t0-0", "t0-1", "usid", "lo"):
            two.run("p0-t1-0", "ip", "link", "set", port, "down")
        two("trace", "h0", "h3", "0/0", "--wait", "50", code=1)
        for _ in range(2):
            two.run("p0-t1-0", "sh", script)
            for t0 in ("p0-t0-0", "p0-t0-1"):  # whose ports take a moment to see that the other end is up
                until(lambda t0=t0: "LOWER_UP" in two.run(t0, "ip", "-br", "link", "show", "t1-0"), f"{t0} sees no T1")
            two("trace", "h0", "h3", "0/0")


def need_frr():
    need(shutil.which("vtysh") and os.path.exists("/usr/lib/frr/staticd"), "FRR is missing (apt-get install frr)")


def frr_version():
    shown = run(["/usr/lib/frr/zebra", "--version"]).stdout
    return tuple(int(n) for n in re.search(r"version (\d+)\.(\d+)", shown).groups())


def frr_files():
    for text in (TWO, TWO + ECMP):
        for name in glob.glob(rendered("frr" + str(len(text)), "--frr", text=text) + "/*.conf"):
            with open(name, encoding="utf-8") as file:
                yield name, file.read()


def frr_refuses(text):
    """The complaint of FRR's own parser; empty: none."""
    conf = write("frr.conf", text)
    done = run(["vtysh", "-C", "-f", conf, "--config_dir", files.at()], code=None)
    return "" if done.returncode == 0 and "Unknown" not in done.stdout + done.stderr else str(done)


def test_frr_reads_every_switch():
    """All but what FRR 8.4 does not have: the locator itself is included."""
    need_frr()
    for name, text in frr_files():
        old = frr_grammar.for_frr_8_4(text)
        assert "   locator MRC\n" in old and "    prefix fcbb:" in old, name
        removed = [line.split()[0] for line in text.splitlines() if line not in old.splitlines()]
        assert removed == ["prefix", "behavior", "static-sids", "!", "sid"], (name, removed)
        assert frr_refuses(old) == "", name
    assert frr_refuses(old.replace("ipv6 forwarding", "ipv6 forwards"))


def test_a_newer_frr_reads_the_whole_file():
    need_frr()
    version = frr_version()
    need(version >= (10, 2), f"static-sids of frr.conf: FRR {version[0]}.{version[1]} is installed, 10.2 or newer is needed")
    for name, text in frr_files():
        assert frr_refuses(text) == "", name


def test_static_sids_follow_the_grammar():
    """[MRC-SONIC-6..7] Line by line, where no FRR is new enough; every command has a comment above it."""
    for name, text in frr_files():
        assert frr_grammar.complaints(text) == [], name
        lines = [line.strip() for line in text.splitlines()]
        for above, line in zip(lines, lines[1:]):
            if line.split(" ")[0] in ("ipv6", "description", "prefix", "behavior", "sid", "static-sids", "hostname", "frr"):
                assert above.startswith("! ") or above.split()[:3] == line.split()[:3], (name, line)
    for right, wrong in (("behavior uN", "behavior uM"), ("behavior uN", "behavior uA"), ("behavior uN", "behavior uDT46"),
                         ("locator MRC behavior", "locator CRM behavior"), ("   sid fcbb:bb00", "   sid fcbb:bb01"),
                         ("  static-sids", "static-sids"), ("   sid ", "   sids "), ("node-len 16", "node-len 24"),
                         ("  exit\n  !\n exit", "  !\n exit")):
        assert right in text and frr_grammar.complaints(text.replace(right, wrong)), wrong
    for behavior in ("uA interface Ethernet8", "uA interface Ethernet8 nexthop fe80::1", "uDT6 vrf V", "uDT46 vrf V"):
        assert frr_grammar.complaints(text.replace("behavior uN", "behavior " + behavior)) == [], behavior


def frr_user():
    try:
        return pwd.getpwnam("frr").pw_uid
    except KeyError:
        return need(False, "there is no user frr, to which its daemons change")


def test_frr_forwards_in_place_of_our_routes():
    """A T0 whose static routes are those of FRR alone: zebra and staticd with the rendered file. The segment itself stays
    the kernel's, since this FRR may be too old for it."""
    need_frr()
    uid = frr_user()
    with Lab() as two:
        with open(os.path.join(rendered("frr", "--frr"), "p0-t0-0.frr.conf"), encoding="utf-8") as file:
            conf = write("frr.conf", frr_grammar.for_frr_8_4(file.read()) if frr_version() < (10, 2) else file.read())
        os.chmod(files.at(), 0o755)
        sockets = files.at("sockets")
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
                daemons.append(two.starts("p0-t0-0", "/usr/lib/frr/" + name, "-f", empty, "-z", sockets + "/zserv.api", "-i",
                                          f"{sockets}/{name}.pid", "--vty_socket", sockets, "-A", "::1", "-P", "0", "--log", "stdout"))
                until(lambda name=name: os.path.exists(f"{sockets}/{name}.vty"), lambda: f"no socket of {daemons[-1]}")
            two.run("p0-t0-0", "vtysh", "--config_dir", files.at(), "--vty_socket", sockets, "-f", conf)

            def routes():
                assert not any(daemon.ended() for daemon in daemons), "a daemon has ended"
                return two.run("p0-t0-0", "ip", "-6", "route")
            until(lambda: len(re.findall(" proto static", routes())) >= 9, routes)
            two("trace", "h0", "h3", "all")
            two("trace", "h3", "h0", "all")
        finally:
            for daemon in daemons:
                daemon.signal(signal.SIGTERM)
                daemon.wait(LIMIT_S)


def test_drawing_names_every_switch_and_host():
    drawing = tool("render", write("fabric.yaml", TWO), "--dot").stdout
    for name in ("h0", "h3", "p0-t0-1", "p1-t1-1"):
        assert name in drawing
    assert drawing.count(" -- ") == 16
    if shutil.which("dot"):
        process.run(["dot", "-Tsvg", "-o", os.devnull], limit_s=LIMIT_S, input=drawing)


def unprivileged(*words):
    """As a user who may do nothing; the program is copied to where that user can read it."""
    copy_of = files.at("mrc-fabric")
    shutil.copy(built.path("MRC_FABRIC"), copy_of)
    os.chmod(files.at(), 0o755)
    os.chmod(copy_of, 0o755)
    more = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    return process.run([copy_of, *words], environment(), None, LIMIT_S, **more)


def test_without_root_one_is_told_what_works():
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
    assert tool("render", "./tyny", "--dot", code=2).stderr == "mrc-fabric: ./tyny: cannot be read: No such file or directory\n"
    for words, text in ((("h0", "h99"), "there is no node 'h99'"), (("h0", "h7", "9/1"), "allowed: PLANE/T1"),
                        (("h0", "p0-t0-0"), "is not a host"), (("h0", "h0"), "the same host"),
                        (("h0", "h7", "::zz"), "is not an IPv6 address")):
        assert text in tool("trace", "--fabric", "tiny", *words, code=2).stderr, words
    assert "has no file" in tool("render", "tiny", "--frr", "--node", "h0", code=2).stderr
    assert "render what?" in tool("render", "tiny", code=2).stderr
    assert tool("up", code=2).stderr
    need_lab()
    assert "mrc-sim simulates it" in tool("up", "full131072", code=1).stderr
    assert "no lab is up" in tool("status", code=1).stderr
    assert "allowed: a letter" in tool("up", "tiny", "--lab", "../x", code=2).stderr
