"""Runs one test function in a folder of its own: run_one.py SCRIPT FUNCTION [ARGUMENT...] [NAME=PATH...]

SCRIPT is the module, which may import those beside it. The function gets the arguments. NAME=PATH names what is built
(mrc_python_tests in tools/cmake/MrcTests.cmake). Exit code 77: skipped, with the reason.
"""
import importlib
import os
import sys
import tempfile

import built
import files
import skip


def main():
    script, function, *more = sys.argv[1:]
    pairs = [word.split("=", 1) for word in more if "=" in word]
    built.PATHS.update((name, os.path.abspath(path)) for name, path in pairs)
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    with tempfile.TemporaryDirectory(prefix="mrc-test-") as files.FOLDER:
        module = importlib.import_module(os.path.splitext(os.path.basename(script))[0])
        return getattr(module, function)(*(word for word in more if "=" not in word))


if __name__ == "__main__":
    skip.finish(main)
