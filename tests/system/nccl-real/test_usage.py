"""The rig itself: help, refusals, and that it finds what it is there to find; what NCCL's log has of wrong settings."""
import json

from files import write
from rig_suite import report, rig, wrapped


def test_help():
    text = rig("--help")
    for word in ("--ranks", "-b,--minbytes", "--case", "busbw", "Exit code"):
        assert word in text, word
    assert "2.28.9" in rig("--version")
    assert "peer_killed" in rig("--case", "list")


def test_refusals():
    for arguments, words in ((("--sizes", "4X"), "is no size"), (("--test", "all_sing"), "there are: all_gather"),
                             (("-d", "int9"), "there are: int8"), (("-r", "4"), "no rank 4"), (("--case", "x"), "is no case"),
                             (("-b", "8", "-e", "4"), "nothing")):
        assert words in rig(*arguments, code=2)


def test_options_of_nccl_tests():
    """Those of all_reduce_perf, and its name."""
    for sweep, sizes in ((("-b", "8", "-e", "64", "-f", "2"), [8, 16, 32, 64]), (("-b", "1K", "-e", "3K", "-i", "1K"), [1024, 2048, 3072])):
        lines = report("--ranks", 2, "-t", "all_reduce_perf", *sweep, "-g", 1, "-n", 1, "-w", 0, "-c", 1)
        assert [line["bytes"] for line in lines] == sizes, lines
        assert all(line["test"] == "all_reduce" and line[way]["time_us"] > 0 for line in lines for way in ("out_of_place", "in_place")), lines


def test_other_library_is_skipped():
    assert "another build" in rig(code=77, NCCL_RIG_LIBRARY="/bin/sh")
    assert "no file /nowhere" in rig(code=77, NCCL_RIG_LIBRARY="/nowhere")


def test_other_transport_is_found():
    text = rig("--ranks", 2, "--sizes", "4", "-n", 1, "--plugin", "socket", "--expect-net", "MRC", code=1)
    assert "used transport Socket, not MRC" in text, text


def test_timeline_has_every_batch_and_check():
    """In the order of time, none within another; without the option there is none."""
    arguments = ("--ranks", 2, "--sizes", "64K", "-n", 3, "-D", 0.5, "--out-of-place")
    (line,) = report(*arguments, "--timeline")
    times, runs = [at for begin, end, _ in line["timeline"] for at in (begin, end)], [runs for *_, runs in line["timeline"]]
    assert len(runs) >= 2 and runs == [3, 1] * (len(runs) // 2), runs
    assert times == sorted(times) and times[-1] - times[0] >= 0.4, times
    (line,) = report(*arguments)
    assert "timeline" not in line, line


def test_slices_are_measured_as_they_are_asked_for():
    """On communicators that stay, until the input ends; buffers are filled again for another size or test."""
    asked = "all_reduce 8 3 1 0 1\nall_reduce 8 3 0 0 0\nsendrecv 65536 1 0 0.1 1\n"
    ready, *lines = (json.loads(line) for line in rig("--ranks", 2, "--slices", given=asked).splitlines() if line.startswith("{"))
    assert ready == {"ready": True} and len(lines) == 3 and all(line["time_us"] > 0 and line["cpu_us"] > 0 and line["wrong"] == 0 for line in lines), lines
    for line in ("all_sing 8 1 0 0 0", "all_reduce 8", "all_reduce -1 1 0 0 0", "all_reduce 8 0 0 0 0", "all_reduce 8 1 -1 0 0", "all_reduce 8 1 0 -1 0"):
        assert f"'{line}' is not: TEST BYTES" in rig("--ranks", 2, "--slices", given=line + "\n", code=1)
    for others in (("--case", "split"), ("-D", "1"), ("--json", "-")):
        assert "--slices excludes --case" in rig("--slices", *others, code=2)
    text = rig("--ranks", 2, "--slices", "--plugin", "socket", "--expect-net", "MRC", given=asked, code=1)
    assert "used transport Socket, not MRC" in text and "time_us" not in text, text


def test_wrong_data_are_found():
    settings, plugin = wrapped("corrupts")
    rig("--ranks", 2, "--sizes", "1M", "-n", 1, *plugin, code=1, **settings)


def test_an_operation_that_the_rig_cannot_play_is_named():
    """An average of floating-point numbers in registered buffers, which NCCL computes wrong."""
    settings, plugin = wrapped("claims_cuda")
    text = rig("--ranks", 2, "-R", 1, "--test", "all_reduce", "-o", "avg", "--sizes", "64K", "-n", 1, *plugin, code=70, NCCL_RIG_GDR=1,
               NCCL_NET_GDR_LEVEL="SYS", NCCL_ALGO="Ring", NCCL_PROTO="Simple", **settings)
    assert "AllReduce_PreMulSum_f32_RING_SIMPLE" in text, text


def test_wrong_settings_are_named_in_the_log_of_nccl():
    """With NCCL_DEBUG=WARN and nothing else. Those of the plugin have a default; without devices there is no network."""
    unknown = write("unknown.yaml", "devices:\n  - name: mrc0\n    plane: [{address: 127.0.1.1}]\n")
    foreign = write("foreign.yaml", "devices:\n  - name: mrc0\n    planes: [{address: 192.0.2.77}]\n")
    run = ("--ranks", 2, "--sizes", "4", "-n", 1)
    text = rig(*run, NCCL_DEBUG="WARN", NCCL_MRC_GPU="gdr", NCCL_MRC_TIMOUT=9)
    for words in ("NCCL_MRC_GPU=gdr is not in auto, gdrcopy, dmabuf, off; auto is used", "Nothing reads NCCL_MRC_TIMOUT: "):
        assert f"NCCL WARN NET/MRC: {words}" in text, text
    for settings, words in (({"NCCL_MRC_HCA": "mlx5"}, "NCCL_MRC_HCA=mlx5 chooses none of the devices (mrc0)"),
                            ({"MRC_CONFIG": "/nowhere.yaml"}, "cannot read the configuration file /nowhere.yaml: No such file"),
                            ({"MRC_CONFIG": unknown}, f"{unknown}:3: unknown key 'plane', did you mean 'planes'?"),
                            ({"MRC_CONFIG": foreign}, 'mrc0 is not used: opening it: Cannot assign requested address; the line "mrc: error"')):
        text = rig(*run, code=1, NCCL_DEBUG="WARN", **settings)
        warnings = [line for line in text.splitlines() if "NCCL WARN NET/MRC: " in line]
        assert any(words in line for line in warnings), warnings
    assert "mrc: error: " in text and "192.0.2.77" in text, text
