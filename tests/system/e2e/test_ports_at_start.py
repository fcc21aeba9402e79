"""A host that starts with a port out goes on with its other planes, and the plane joins when its address or interface comes
[MRC-PORT-6] [MRC-EXT-12]."""
import json

import built
from limits import limit
from namespaces import Planes, ip
from pair import Pair, config, settings_of
from process import run

IPV4 = [("10.91.1.1/24", "10.91.1.2/24"), ("10.91.2.1/24", "10.91.2.2/24")]
IPV6 = [("fd00:6d72:1::1/64", "fd00:6d72:1::2/64"), ("fd00:6d72:2::1/64", "fd00:6d72:2::2/64")]


def device(planes, more=""):
    lines = ["devices:", "  - name: mrc0", "    planes:", *(f"      - {{{plane}}}" for plane in planes)]
    return "\n".join(lines) + "\n" + more


def by_address(planes, side, more=""):
    return device([f"address: '{planes.address(plane, side)}'" for plane in range(1, len(planes.addresses) + 1)], more)


def template(addresses):
    first = "10.91.{plane}.{host}" if "." in addresses[0][0] else "fd00:6d72:{plane}::{host}"
    return f"    peers: {{template: '{first}'}}\n"


def rows_with(planes):
    """A row of the timeline with so many planes in use."""
    return rf"(?m)^ +\d+ +[\d.]+ +{planes}  "


def joins(planes, files, mend):
    """Data flow over plane 1 until `mend` lets plane 2 join, then over both."""
    env = [config(text, f"side{side}.yaml") for side, text in enumerate(files)]
    with Pair(["--verify", "--size", "1M", "--duration", limit(120), "--timeline", "100"], env[1], server_env=env[0],
              prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0)) as pair:
        pair.client.err_until(rows_with(1))
        assert "mismatch" not in pair.client.err, pair
        mend()
        pair.client.err_until(rows_with(2))
        assert not pair.client.ended() and not pair.server.ended(), pair


def plane2(planes, side, *words):
    ip("-n", planes.names[side], *words)


def at_plane2(planes, side):
    return [planes.addresses[1][side], "dev", "plane2", *(["nodad"] if ":" in planes.addresses[1][side] else [])]


def test_a_port_that_is_down():
    """A port that is taken down loses its IPv6 addresses."""
    with Planes(IPV6) as planes:
        plane2(planes, 1, "link", "set", "plane2", "down")

        def mend():
            plane2(planes, 1, "link", "set", "plane2", "up")
            plane2(planes, 1, "address", "add", *at_plane2(planes, 1))

        joins(planes, [by_address(planes, side, template(IPV6)) for side in (0, 1)], mend)


def test_a_cable_that_is_unplugged():
    """Without a link an IPv6 address is tentative: it is there, but cannot be bound."""
    with Planes(IPV6) as planes:
        for side in (0, 1):
            plane2(planes, side, "link", "set", "plane2", "down")
        plane2(planes, 1, "link", "set", "plane2", "up")
        plane2(planes, 1, "address", "add", planes.addresses[1][1], "dev", "plane2")
        shown = run([*planes.inside(1), built.path("MRC_INFO")],
                    settings_of(config(by_address(planes, 1, template(IPV6)))))
        assert "has the address, but no link" in shown.stdout, shown.stdout

        def mend():
            plane2(planes, 0, "link", "set", "plane2", "up")
            plane2(planes, 0, "address", "add", *at_plane2(planes, 0))

        joins(planes, [by_address(planes, side, template(IPV6)) for side in (0, 1)], mend)


def test_an_address_that_is_missing_at_the_server():
    with Planes(IPV4) as planes:
        plane2(planes, 0, "address", "flush", "dev", "plane2")
        joins(planes, [by_address(planes, side, template(IPV4)) for side in (0, 1)],
              lambda: plane2(planes, 0, "address", "add", *at_plane2(planes, 0)))


def test_an_interface_that_is_missing():
    """Its sockets are bound to it, so that nothing can be opened before it comes."""
    with Planes(IPV4) as planes:
        plane2(planes, 1, "link", "set", "plane2", "down")
        plane2(planes, 1, "link", "set", "plane2", "name", "gone")

        def mend():
            plane2(planes, 1, "link", "set", "gone", "name", "plane2")
            plane2(planes, 1, "link", "set", "plane2", "up")
            run(["ip", "-n", planes.names[1], "address", "add", *at_plane2(planes, 1)], code=None)  # it kept IPv4's

        joins(planes, [device([f"interface: plane{plane}, address: '{planes.address(plane, side)}', bind: true"
                               for plane in (1, 2)], template(IPV4)) for side in (0, 1)], mend)


def test_an_interface_without_an_address_that_nothing_else_gives():
    """The peer was told that this host has no plane 2, and learns otherwise. At the server, then at the client."""
    for side in (0, 1):
        with Planes(IPV4) as planes:
            plane2(planes, side, "address", "flush", "dev", "plane2")
            joins(planes, [device(["interface: plane1", "interface: plane2"])] * 2,
                  lambda: plane2(planes, side, "address", "add", *at_plane2(planes, side)))


def test_raw_frames():
    with Planes(IPV6) as planes:
        plane2(planes, 1, "address", "flush", "dev", "plane2")
        joins(planes, [f"datapath: raw\n{by_address(planes, side, template(IPV6))}" for side in (0, 1)],
              lambda: plane2(planes, 1, "address", "add", *at_plane2(planes, 1)))


def test_links_need_not_be_watched():
    with Planes(IPV4) as planes:
        plane2(planes, 1, "address", "flush", "dev", "plane2")
        joins(planes, [f"watch_links: false\n{by_address(planes, side, template(IPV4))}" for side in (0, 1)],
              lambda: plane2(planes, 1, "address", "add", *at_plane2(planes, 1)))


def test_hosts_with_different_numbers_of_planes():
    for peers in ("    peers: {learn: true}\n", template(IPV4)):
        with Planes(IPV4) as planes:
            files = [by_address(planes, 0, peers), device([f"address: '{planes.address(1, 1)}'"], peers)]
            for server in (0, 1):
                env = [config(text, f"side{side}.yaml") for side, text in enumerate(files)]
                pair = Pair(["--verify", "--bidirectional", "--size", "256K", "--iters", "20"], env[1 - server],
                            server_env=env[server], prefixes=(planes.inside(server), planes.inside(1 - server)),
                            host=planes.address(1, server))
                assert pair.finish() == (0, 0), pair
                assert pair.report()["sizes"][0]["mismatches"] == 0, pair.client


def test_only_a_device_without_any_plane_refuses():
    with Planes(IPV4) as planes:
        env = settings_of(config(by_address(planes, 0, template(IPV4))))
        words = [*planes.inside(0), built.path("MRC_INFO")]
        plane2(planes, 0, "address", "flush", "dev", "plane2")
        shown = json.loads(run([*words, "--json"], env).stdout)["devices"][0]["planes"]
        assert [plane["up"] for plane in shown] == [True, False], shown
        assert shown[0]["out"] == "" and "no interface of this host has this address" in shown[1]["out"], shown
        assert " out\n" in run(words, env).stdout
        warned = run(words, {**env, "MRC_LOG": "warn"})
        assert warned.stderr.count("plane 2 is out") == 1, warned.stderr
        ip("-n", planes.names[0], "address", "flush", "dev", "plane1")
        refused = run(words, {**env, "MRC_LOG": "error"}, code=1)
        assert "no plane can be opened; plane 1: " in refused.stderr and "; plane 2: " in refused.stderr, refused.stderr
