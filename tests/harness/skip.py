"""Requirements of a test. Where the machine lacks one, the test is skipped, and the reason names it."""
import os
import shutil
import sys

SKIPPED = 77  # tools/cmake/MrcTests.cmake passes it to ctest


class Skipped(Exception):
    """The text names what is missing."""


def need(condition, why):
    if not condition:
        raise Skipped(why)


def need_root(what="network namespaces"):
    need(os.geteuid() == 0, f"{what} need root")


def need_program(name, package):
    """Its name, for a command."""
    need(shutil.which(name), f"the program {name} is missing (apt-get install {package})")
    return name


def finish(test):
    """Runs a test as the last act of a program: exit code 77 with the reason where it is skipped."""
    try:
        test()
    except Skipped as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    print("passed")
