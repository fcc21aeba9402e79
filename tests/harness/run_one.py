"""Runs one test function in a folder of its own: run_one.py HARNESS MODULE FUNCTION NAME=PATH... Exit 77: skipped, with why.

HARNESS is the file of the suite's own helpers, beside which the test modules lie. It has prepare(folder, built), which is
told the folder and the paths of what is built, by name (see mrc_python_tests in tools/cmake/MrcTests.cmake), and raises Skipped
where the machine lacks what a test needs.
"""
import importlib
import os
import sys
import tempfile

SKIPPED = 77  # tools/cmake/MrcTests.cmake tells ctest


def main():
    path, module, function, *built = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(path))
    harness = importlib.import_module(os.path.splitext(os.path.basename(path))[0])
    with tempfile.TemporaryDirectory(prefix="mrc-test-") as folder:
        try:
            harness.prepare(folder, {name: os.path.abspath(at) for name, at in (pair.split("=", 1) for pair in built)})
            getattr(importlib.import_module(module), function)()
        except harness.Skipped as why:
            print(f"skipped: {why}")
            sys.exit(SKIPPED)
    print("passed")


if __name__ == "__main__":
    main()
