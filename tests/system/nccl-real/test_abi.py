"""NCCL uses each version of the interface that it knows, where the plugin has no other."""
from rig_suite import rig, wrapped


def at(version):
    settings, plugin = wrapped(f"only_v{version}")
    text = rig("--ranks", 2, "--test", "all_reduce,alltoall", "--sizes", "4,300K", "-n", 1, *plugin, NCCL_DEBUG="INFO",
               NCCL_MAX_NCHANNELS=1, **settings)
    assert f"Loaded net plugin MRC (v{version})" in text, text


def test_v6():
    at(6)


def test_v7():
    at(7)


def test_v8():
    at(8)


def test_v9():
    at(9)


def test_v10():
    at(10)


def test_v11():
    at(11)
