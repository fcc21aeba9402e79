"""No test is forgotten: every source file with tests of GoogleTest is compiled by this build, and ctest runs every function test_* of
every test_*.py.

usage: registered.py SOURCE_DIR BUILD_DIR WHOLE    WHOLE: OFF where parts of the tree may be left out for missing packages
"""
import collections
import json
import os
import re
import subprocess
import sys

from skip import check, finish, need

CASE = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(", re.MULTILINE)
FUNCTION = re.compile(r"^(?:async )?def (test_\w*)\s*\(", re.MULTILINE)
INCLUDED = re.compile(r'#include "([^"]+)"')


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def compiled(build):
    """Real paths, those of which unity files are made included."""
    files = set()
    for entry in json.loads(read(os.path.join(build, "compile_commands.json"))):
        path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        files.add(path)
        if os.path.basename(path).startswith("unity_") and os.path.exists(path):
            files.update(os.path.realpath(name) for name in INCLUDED.findall(read(path)))
    return files


def run_by_ctest(build):
    """Real path of a script -> the functions that run."""
    listed = subprocess.run(["ctest", "--test-dir", build, "-C", "long", "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout
    functions = collections.defaultdict(set)
    for test in json.loads(listed)["tests"]:
        words = test.get("command", [])
        for word, script, function in zip(words, words[1:], words[2:]):
            if os.path.basename(word) == "run_one.py":
                functions[os.path.realpath(script)].add(function)
    return functions


def sources(root):
    for top in ("tests", "sim"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if name not in ("build", "fuzz")]
            for name in names:
                yield os.path.realpath(os.path.join(folder, name))


def forgotten(root, build):
    files, functions = compiled(build), run_by_ctest(build)
    check(files and functions, "this build has no tests")
    for path in sources(root):
        name = os.path.basename(path)
        if name.endswith(".cc") and CASE.search(read(path)) and path not in files:
            yield f"{path}: no target compiles it"
        elif name.startswith("test_") and name.endswith(".py"):
            for function in FUNCTION.findall(read(path)):
                if function not in functions[path]:
                    yield f"{path}: no test runs {function}"
        elif name.endswith("_test.py") and FUNCTION.search(read(path)):
            yield f"{path}: modules with functions test_* are called test_*.py"


def main():
    root, build, whole = sys.argv[1:]
    need(whole == "ON", "this build may leave out parts (tools/test configures it with MRC_REQUIRE_ALL)")
    found = list(forgotten(root, build))
    check(not found, "\n".join(found))


if __name__ == "__main__":
    finish(main)
