"""Where programs find the MRC functions and libibverbs under the preload, and what they are told without it."""
import os
import shutil

import built
import files
import session
from skip import need

IMMEDIATES = "240 immediates"


def pair_works(command, extra=(), preload=None):
    server, client = session.run_pair(command, extra, preload=preload)
    both = f"{client}\n{server}"
    assert (client.code, server.code) == (0, 0) and IMMEDIATES in client.out, both
    return both


def test_without_the_preload_there_is_no_device():
    process = session.run(["@PROGRAMS@/mrc_c_linked", "linked", "-p", "1"], preload=())
    assert process.code == 2 and "no RDMA device" in process.out and "LD_PRELOAD=" in process.out, process


def test_the_library_says_that_the_preload_is_missing():
    """[API-DEV-6]"""
    linked, missing, warn = ["@PROGRAMS@/mrc_c_linked", "linked", "-p", "1"], "LD_PRELOAD=libmrc-verbs.so adds them", (("MRC_LOG", "warn"),)
    for command, extra, preload, said in ((linked, warn, (), 1), (linked, (), (), 0), (["ibv_devices"], warn, None, 0)):
        process = session.run(command, extra, preload)
        assert process.out.count(missing) == said, process


def test_without_the_preload_there_is_no_library():
    process = session.run(["@PROGRAMS@/mrc_c_opened", "libnv_mrc.so", "-p", "1"], preload=())
    assert process.code == 2 and "no MRC library: libnv_mrc.so" in process.out, process


def test_a_second_copy_of_the_library_is_not_used():
    """[VRB-DLO-1]"""
    copy = shutil.copy(provider(), files.at())
    both = pair_works(["@PROGRAMS@/mrc_c_opened", copy], (("MRC_LOG", "info"),))
    assert "is a second copy of libmrc" in both, both


def provider():
    return os.path.join(os.path.dirname(built.path("COMPAT")), "libmrc.so.1")


def test_the_library_beside_the_shim_comes_before_the_search_path():
    """[VRB-PRV-2]"""
    shim, beside = shutil.copy(built.path("SHIM"), files.at()), shutil.copy(provider(), files.at())
    preload = (session.RUNTIME, shim)
    process = session.run(["ibv_devices"], (("MRC_LOG", "info"),), preload)
    assert f"MRC over {beside}\n" in process.out and "mrc0" in process.out, process
    os.remove(beside)
    process = session.run(["ibv_devices"], (("MRC_LOG", "info"),), preload)
    assert "MRC over libmrc.so.1\n" in process.out and "mrc0" in process.out, process


def test_the_provider_is_the_library_under_every_name():
    """[VRB-MRC-2] libnv_mrc.so is the shim, whose functions call the provider."""
    for name in ("libmrc.so", "libnv_mrc.so"):
        process = session.run(["@PROGRAMS@/mrc_c_opened", name, "-p", "1"], (("MRC_PROVIDER", "libm.so.6"),))
        assert process.code == 2 and "libm.so.6 is no MRC library" in process.out, process


def test_libibverbs_opened_by_name_or_path_has_the_device():
    for name in ("libibverbs.so", "libibverbs.so.1", "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"):
        process = session.run(["@PROGRAMS@/shim_dlopen", name])
        assert process.code == 0 and "connected to itself" in process.out, f"{name}: {process}"


def test_libibverbs_is_left_alone_when_no_devices_are_wanted():
    process = session.run(["@PROGRAMS@/shim_dlopen", "libibverbs.so.1"], (("MRC_SHIM_DEVICES", "none"),))
    assert process.code == 1, process


def test_other_libraries_are_found_along_the_path_of_their_opener():
    need(not session.RUNTIME, "a sanitizer's own dlopen() stands before ours, and loses the opener's path with or without us")
    process = session.run(["@PROGRAMS@/shim_runpath"])
    assert process.code == 0 and process.out == "found\n", process


def test_programs_under_sanitizers_find_the_library():
    need(not session.RUNTIME, "programs with a sanitizer are tested by the build without")
    for sanitizer in ("asan", "tsan"):
        runtime = os.environ["TEST_" + sanitizer.upper()]
        pair_works([f"@PROGRAMS@/mrc_{sanitizer}", "libmrc.so"], preload=(runtime, built.path("SHIM")))
