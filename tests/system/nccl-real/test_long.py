"""Tests that take minutes: only in tools/test --long."""
from rig_suite import played, rig, wrapped


def test_two_hundred_communicators():
    rig("--ranks", 2, "--case", "churn", "--repeat", 200, "-T", 880, same_host="network", NCCL_MAX_NCHANNELS=1)


def test_aborted_inits():
    rig("--ranks", 3, "--case", "abort_init", "--repeat", 12, "-T", 880, same_host="network")


def test_peer_killed_in_any_call():
    settings, plugin = wrapped("dies")
    for call in ("listen", "listening", "connect", "connecting", "connected", "accept", "accepted"):
        rig("--ranks", 3, "--case", "peer_killed_in_init", *plugin, same_host="network", NCCL_RIG_DIES_IN=call, **settings)


def test_large_messages():
    rig("--ranks", 4, "--test", "all", "--sizes", "64M", "-n", 1, "-T", 600, same_host="network")


def test_ranks_8_all_sizes():
    rig("--ranks", 8, "--test", "all", "--sizes", "4..4M", "-n", 1, "-T", 800, same_host="network")


def test_ll128():
    """Over NCCL's sockets: a line's flag must not come before its data, which only a network in order can promise."""
    text = rig("--ranks", 3, "--test", "all", "--sizes", "4,10000,700K", "-n", 1, "--functions", "--plugin", "socket",
               NCCL_PROTO="LL128")
    assert {"AllReduce_Sum_f32_RING_LL128", "AllReduce_Sum_f32_TREE_LL128"} <= played(text), text
