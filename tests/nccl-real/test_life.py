"""Communicators: several, split, aborted."""
from rig_suite import rig


def test_several():
    rig("--ranks", 2, "--case", "several")


def test_split():
    rig("--ranks", 4, "--case", "split", NCCL_MAX_NCHANNELS=1)


def test_abort_again():
    rig("--ranks", 2, "--case", "abort_again")


def test_abort_init():
    rig("--ranks", 2, "--case", "abort_init", same_host="network")


def test_unload():
    rig("--ranks", 2, "--case", "unload", same_host="network")


def test_communicators_in_a_row():
    rig("--ranks", 2, "--case", "churn", "--repeat", 8, NCCL_MAX_NCHANNELS=1)
