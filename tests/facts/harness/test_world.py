"""tests/harness/world --check: whether tests have a world of their own."""
import os

import files
import process
from environment import clean
from outcome import HARNESS

WORLD = os.path.join(HARNESS, "world")


def check(unshare=None):
    """With a script in the place of the machine's program."""
    if unshare:
        files.script("unshare", unshare)
    return process.run([WORLD, "--check"], clean({"PATH": files.at() + ":" + os.environ["PATH"]}), code=None)


def test_a_kernel_that_refuses():
    done = check("echo 'unshare failed: Operation not permitted' >&2; exit 1")
    assert done.returncode == 1 and not done.stderr, done
    assert done.stdout.startswith("world: no world can be made here, ") and done.stdout.endswith("Operation not permitted\n"), done


def test_it_makes_one_as_tests_do():
    """Its last argument is what it does in it."""
    done = check('[ "$1" != --inside ] && [ $# -gt 6 ] || exit 1; for last; do true; done; [ "$last" = true ]')
    assert done.returncode == 0 and done.stdout == "world: each test has a network, files and processes of its own\n", done


def test_it_tells_the_truth():
    done = process.run([WORLD, os.getcwd(), "--", "readlink", "/proc/self/ns/net"], code=None)
    own = done.returncode == 0 and os.readlink("/proc/self/ns/net") not in done.stdout
    checked = check()
    assert checked.returncode == (0 if own else 1), (checked, done)
