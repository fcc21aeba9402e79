"""Requirements of a test, and its end. Where the machine lacks what a test needs, it is skipped, and the reason names what is
missing."""
import os
import shutil
import subprocess
import sys
import threading

SKIPPED = 77  # tools/cmake/MrcTests.cmake passes it to ctest


class Skipped(Exception):
    """The text names what is missing."""


def need(condition, why):
    if not condition:
        raise Skipped(why)


def need_root(what="network namespaces"):
    need(os.geteuid() == 0, f"{what} need root")


def need_program(name, package):
    """Its name, for a command. Where the package is installed, it is the name that is wrong."""
    if shutil.which(name):
        return name
    installed = shutil.which("dpkg-query") and subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], check=False,
                                                              capture_output=True, text=True).stdout == "installed"
    check(not installed, f"package {package} is installed and has no program {name}")
    raise Skipped(f"the program {name} is missing (apt-get install {package})")


def check(condition, why):
    """An assertion that holds under -O, too."""
    if not condition:
        raise AssertionError(why)


def finish(test):
    """Runs a test as the last act of a program: exit code 77 with the reason where it is skipped. Only a test that ran to its end
    passes: neither its threads nor itself ended early, and its assertions were compiled."""
    check(not sys.flags.optimize, "python runs without assertions (-O or PYTHONOPTIMIZE): no test could fail")
    failed = []

    def thread_failed(what):
        threading.__excepthook__(what)
        failed.append(f"{what.thread.name}: {what.exc_type.__name__}: {what.exc_value}")

    threading.excepthook = thread_failed
    skipped = None
    try:
        result = test()
        check(result is None, f"the test returned {result!r}: of a function with `yield` nothing has run, and no other value is looked at")
    except Skipped as why:
        skipped = why
    except SystemExit as end:
        raise AssertionError(f"the test ended the program before its own end: sys.exit({end.code!r})") from end
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    check(not failed, f"threads of the test failed: {', '.join(failed)}")
    if skipped:
        print(f"skipped: {skipped}")
        sys.exit(SKIPPED)
    print("passed")
