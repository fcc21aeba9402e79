"""NCCL's own InfiniBand transport over the verbs shim: no plugin, an unmodified transport, every element compared."""
import built
from rig_suite import rig

# NCCL 2.28.9 chooses between the kinds of GPU-initiated networking by a pointer that is set for mlx5 alone, and ends at a call
# through it on any other device; 2 names the kind that a proxy thread carries.
SETTINGS = {"NCCL_GIN_TYPE": 2}


def over_the_shim(*arguments, **settings):
    rig("--plugin", "none", "--expect-net", "IB", *arguments, LD_PRELOAD=built.path("SHIM"), same_host="network", **SETTINGS, **settings)


def test_collectives_of_two_ranks():
    over_the_shim("--ranks", 2, "--test", "all", "--sizes", "4,64K,1M", "-n", 1)


def test_collectives_of_four_ranks():
    over_the_shim("--ranks", 4, "--test", "all", "--sizes", "4,64K", "-n", 1)


def test_loss():
    over_the_shim("--ranks", 2, "--sizes", "64K,4M", "-n", 1, MRC_FAULT="seed=3;loss=0.01")
