"""What the host side of MSCCL++ does (mscclpp.c): all functions from the shim, or from two libraries."""
import os

import built
import session

REAL = "libibverbs.so.1"
SMALL, ALL = "4096", str(64 << 20)
# A message is placed long before it is compared, and tsan.supp has the name of what placed it: a long memory of accesses.
LONG_HISTORY = ("TSAN_OPTIONS", "history_size=7:" + os.environ.get("TSAN_OPTIONS", ""))


def run(signals, largest, *libraries, preload=()):
    """Without the preload the shim is opened by path, as MSCCLPP_IBV_SO has it."""
    preload = tuple(filter(None, (session.RUNTIME, *preload)))
    return session.run(["@PROGRAMS@/shim_mscclpp", signals, largest, *libraries], [LONG_HISTORY], preload)


def passes(*arguments, **more):
    process = run(*arguments, **more)
    assert process.code == 0 and "passed with" in process.out, process
    for complaint in ("Sanitizer", "runtime error:"):
        assert complaint not in process.out, process


def test_atomics_to_64_megabytes():
    passes("atomics", ALL, "@SHIM@")


def test_immediates_to_64_megabytes():
    passes("immediates", ALL, "@SHIM@")


def test_two_libraries_that_are_the_shim():
    passes("atomics", SMALL, "@SHIM@", "@SHIM@")


def test_two_libraries_under_the_preload():
    """The second one is libibverbs by its name, which the preload replaces. [VRB-DLO-1]"""
    passes("atomics", SMALL, "@SHIM@", REAL, preload=(built.path("SHIM"),))


def test_libibverbs_beside_the_shim_is_named():
    """The list of devices survives it; its first function with an object says what to do. [VRB-INT-5]"""
    process = run("atomics", SMALL, "@SHIM@", REAL)
    assert process.code == 3 and "ibv_alloc_pd: errno 95" in process.out, process
    assert "mrc-verbs: ibv_alloc_pd: " in process.out and "unset VMRC_LIBIBVERBS_SO" in process.out, process
