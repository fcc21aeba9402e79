"""SRv6 paths through switches that are the Linux kernel: every entropy value takes its T1, with checksums and GSO where
they survive and without both where they would not, or encapsulated in frames of our own [MRC-SR-2] [MRC-SR-7..17]."""
import json

import built
from limits import LIMIT_S
from pair import Pair, config, settings_of
from process import run
from srv6_lab import Lab
from wait import until


def transfer(lab, words, more="", loop=None, server=None):
    """Both directions at once, every byte compared; the client's log must hold the words. `more` are settings of both
    hosts, or with `server` of the client alone. Returns the client's counters."""
    settings = {1: more, 2: more if server is None else server}
    env = [config(lab.device(host, "log: info\n" + settings[host], loop), f"host{host}.yaml") for host in (1, 2)]
    pair = Pair(["--verify", "--bidirectional", "--size", "1M", "--iters", "48"], env[0], server_env=env[1],
                prefixes=(lab.inside(2), lab.inside(1)), host=lab.address(1, 2))
    assert pair.finish() == (0, 0), pair
    report = pair.report()
    assert report["ok"] is True and report["sizes"][0]["mismatches"] == 0, pair.client
    for name in ("drop_icrc", "drop_source"):
        assert report["counters"][name] == 0, report["counters"]
    assert words in pair.client.err, pair.client
    return report["counters"]


def all_paths_shared(lab, counters):
    for plane in lab.planes:
        carried = lab.shifted(plane)
        t1s = [carried[usid] for usid in lab.t1s(plane)]
        assert min(t1s) > sum(t1s) / len(t1s) / 2, (carried, counters)
        for t0 in (f"e{plane}01", f"e{plane}02"):
            assert carried[t0] > sum(t1s) / 4, (carried, counters)


def test_all_paths_with_segmentation_offload():
    with Lab() as lab:
        all_paths_shared(lab, transfer(lab, "GSO on"))


def test_all_paths_without_checksums():
    with Lab() as lab:
        all_paths_shared(lab, transfer(lab, "no UDP checksums", more="gso: off\n"))


def test_no_loop_comes_back():
    with Lab() as lab:
        all_paths_shared(lab, transfer(lab, "no UDP checksums", loop="dead:f{plane}{uplink:2}"))


def test_encapsulated():
    with Lab() as lab:
        all_paths_shared(lab, transfer(lab, "raw frames with SRv6", more="datapath: raw\n"))


def test_raw_and_sockets_understand_each_other():
    with Lab() as lab:
        for offload in ("auto", "off"):
            transfer(lab, "raw frames: 2 planes", more="datapath: raw\nev_mode: structured\n",
                     server=f"ev_mode: structured\ngso: {offload}\n")


def test_every_path_is_probed():
    """[MRC-SR-6] [MRC-CTL-5] The controller's names of SRv6 paths are flow label and source port, and each is probed."""
    with Lab() as lab:
        env = [config(lab.device(host), f"host{host}.yaml") for host in (1, 2)]
        command = [*lab.inside(1), built.path("MRCCTL"), "probe", lab.address(1, 2), "--json"]
        said = []

        def answered():
            """By all paths, or 1 as long as some are silent."""
            said[:] = [run(command, settings_of(env[0]), code=None)]
            return said[0].returncode != 1

        # A process at the other end has to answer.
        with Pair(["--test", "lat", "--duration", 2 * LIMIT_S], env[0], server_env=env[1],
                  prefixes=(lab.inside(2), lab.inside(1)), host=lab.address(1, 2)):
            until(answered, lambda: f"some paths are silent: {said}")
        (done,) = said
        assert done.returncode == 0, done
        paths = json.loads(done.stdout)["peers"][0]["paths"]
        for port in lab.planes:
            labels = {path["ev"].split(":")[0] for path in paths if path["port"] == port}
            assert len(labels) >= len(lab.uplinks) and "0x0000" not in labels, paths
