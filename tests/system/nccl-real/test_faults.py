"""Packets that are lost, doubled, late, damaged or trimmed, planes that die, and peers that stop or die."""
import re

from rig_suite import rig, wrapped

# An error must come in bounded time; these make it come soon.
SOON = {"NCCL_MRC_TIMEOUT": 12, "NCCL_MRC_RETRY_CNT_LINEAR": 3, "NCCL_MRC_RETRY_CNT_EXP": 5}


def survives(fault, *arguments):
    rig("--ranks", 2, "--test", "all_reduce,alltoall", "--sizes", "4,20000,2M", "-n", 3, *arguments, same_host="network",
        MRC_FAULT=fault)


def test_bad_packets():
    survives("loss=0.01,dup=0.01,reorder=0.05,corrupt=0.005,trim=0.01")


def test_planes_die_in_turn():
    rig("--ranks", 2, "--sizes", "1M", "-n", 250, "-w", 0, "--out-of-place", same_host="network",
        MRC_FAULT="plane=1:blackhole@1s-2s;plane=2:blackhole@2s-3s;plane=3:blackhole@3s-4s")


def test_a_slow_connection_is_told_of():
    """No packet passes for 4 s; NCCL's log has one line when that is found and one when it is over."""
    text = rig("--ranks", 2, "--sizes", "1M", "-n", 5, "-w", 0, "-D", 10, "--out-of-place", same_host="network",
               MRC_FAULT="blackhole@4s-8s")
    lines = [line for line in text.splitlines() if "low connection with" in line]
    assert lines and all(re.search(r"NET/MRC: Slow connection with 127.0.0.1:\d+: QP \d+ to QP \d+, .* silence: \d+ packets .*"
                                   r"worst path: plane \d, EV \d+", line) for line in lines), lines
    ages = [float(re.search(r"under way for ([0-9.]+) s", line)[1]) for line in lines]
    assert max(ages) <= 2, lines
    over = [line for line in text.splitlines() if "is no longer slow" in line]
    assert len(over) == len(lines), text


def test_all_planes_dead():
    text = rig("--ranks", 2, "--case", "until_error", same_host="network", MRC_FAULT="blackhole@3s-", **SOON)
    assert text.count("failed as it had to") == 2, text


def test_peer_killed_through_memory():
    text = rig("--ranks", 3, "--case", "peer_killed")
    assert text.count("death was an error") == 2, text


def test_peer_killed_over_sockets():
    text = rig("--ranks", 3, "--case", "peer_killed", same_host="network")
    assert text.count("death was an error") == 2, text


def killed_in(call):
    """The survivors end by an error or an abort, and then work without the dead one."""
    settings, plugin = wrapped("dies")
    text = rig("--ranks", 3, "--case", "peer_killed_in_init", *plugin, same_host="network", NCCL_RIG_DIES_IN=call, **settings)
    return "the death was an error" in text


def test_peer_killed_before_it_connects():
    assert killed_in("connect")


def test_peer_killed_while_it_connects():
    assert killed_in("connecting")


def test_peer_killed_after_it_accepted():
    """The transport has nothing under way: it is for NCCL's bootstrap to notice."""
    killed_in("accepted")


def test_peer_stopped():
    rig("--ranks", 2, "--case", "peer_stopped", same_host="network")
