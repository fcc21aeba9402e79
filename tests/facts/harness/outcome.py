"""What tests/harness/run_one.py makes of a test function whose source is given."""
import os
import sys

import files
import process
from environment import clean

HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../harness")


def outcome(source, *words, flags=("-B",), **env):
    """Runs the function `test` of a module with that text; `words`: arguments of run_one.py after the function's name."""
    module = files.write("module_under_test.py", source)
    return process.run([sys.executable, *flags, os.path.join(HARNESS, "run_one.py"), module, "test", *words],
                       clean({"PYTHONOPTIMIZE": None, **env}), code=None)


def passes(source, *words, **more):
    done = outcome(source, *words, **more)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done


def fails(says, source, *words, **more):
    done = outcome(source, *words, **more)
    assert done.returncode == 1 and says in done.stderr and "passed" not in done.stdout, done


def is_skipped(why, source, *words, **more):
    done = outcome(source, *words, **more)
    assert done.returncode == 77 and f"skipped: {why}" in done.stdout, done
