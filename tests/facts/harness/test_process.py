"""A sanitizer's report or a crash fails the test of the process, whatever its exit code and however it ends
(tests/harness/process.py)."""
import subprocess

import process

REPORTS = ("==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1", "WARNING: ThreadSanitizer: data race (pid=7)",
           "==7==ERROR: LeakSanitizer: detected memory leaks", "a.cc:3:5: runtime error: signed integer overflow",
           "==7==ERROR: UndefinedBehaviorSanitizer: SEGV on unknown address", "FATAL: ThreadSanitizer: unexpected memory mapping",
           "AddressSanitizer: CHECK failed: a.cpp:7")
NONE = ("==7==WARNING: AddressSanitizer failed to allocate 0x1 bytes", "ThreadSanitizer: Matched 1 suppressions (pid=7):", "error: no")


def shell(text, command=""):
    return ["sh", "-c", f"echo ready; echo before >&2; echo '{text}' >&2; echo after >&2; {command}"]


def refused(act, text):
    """The failure that it ends in."""
    try:
        act()
    except AssertionError as failure:
        assert "a sanitizer's report of sh" in str(failure) and text in str(failure) and "after" in str(failure), failure
        return failure
    raise AssertionError(f"the report is not found: {text}")


def waited(text, merged=False):
    process.Process(shell(text), merged=merged).wait()


def killed(text):
    with process.Process(shell(text, "exec sleep 1000")) as server:
        server.err_until("after")


def killed_unread(text):
    with process.Process(shell(text, "echo done; exec sleep 1000")) as server:
        server.out_until("done")


def test_reports_are_found():
    for text in REPORTS:
        refused(lambda text=text: process.run(shell(text)), text)
        refused(lambda text=text: process.run(shell(text, "exit 7"), code=None), text)
        refused(lambda text=text: waited(text), text)
        refused(lambda text=text: killed(text), text)
    refused(lambda: waited(REPORTS[0], merged=True), REPORTS[0])
    refused(lambda: killed_unread(REPORTS[0]), REPORTS[0])


def test_crashes_are_found():
    def beside(command):
        with process.Process(["sh", "-c", f"echo ready; {command}"]) as server:
            server.out_until("ready")
            assert server.ends_within(process.LIMIT_S)

    for name in ("SEGV", "ABRT"):
        for act in (lambda name=name: process.run(["sh", "-c", f"kill -{name} $$"], code=None), lambda name=name: beside(f"kill -{name} $$")):
            try:
                act()
            except AssertionError as failure:
                assert f"ended by SIG{name}" in str(failure), failure
            else:
                raise AssertionError(f"SIG{name} is not found")
    beside("kill -TERM $$")
    assert process.run(["sh", "-c", "kill -KILL $$"], code=None).returncode == -9


def test_other_output_is_none():
    for text in NONE:
        process.run(shell(text))
        waited(text)
        killed(text)


def test_beside_another_failure_both_are_told():
    def failing():
        with process.Process(shell(REPORTS[0], "exec sleep 1000")) as server:
            server.err_until("after")
            assert False, "the test's own"
    failure = refused(failing, REPORTS[0])
    assert "the test's own" in str(failure.__context__), failure.__context__


def test_input_of_a_process():
    with process.Process(["cat"], stdin=subprocess.PIPE) as cat:
        cat.process.stdin.write(b"one\n")
        cat.process.stdin.flush()
        cat.out_until("one")
        assert cat.wait() == 0, cat
