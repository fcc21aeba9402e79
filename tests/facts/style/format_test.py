#!/usr/bin/env python3
"""The layout of C and C++ sources is that of .clang-format.

usage: format_test.py ROOT    Needs clang-format-14: other versions lay out differently.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

CLANG_FORMAT = "clang-format-14"
PARTS = 40


def misformatted(root, names):
    """The files that clang-format would change."""
    done = subprocess.run([CLANG_FORMAT, "--style=file", "--dry-run", *names], cwd=root, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning: code should be clang-formatted", done.stderr, re.M)))


def self_test(root):
    """The check must be able to fail."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(root, ".clang-format"), encoding="utf-8") as rules:
            text = rules.read()
        for name, content in ((".clang-format", text), ("bad.cc", "int  x ;\n"), ("good.cc", "int x;\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(content)
        assert misformatted(folder, ["bad.cc", "good.cc"]) == ["bad.cc"]


def main():
    root = sys.argv[1]
    self_test(root)
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.h", "*.cc", "*.c"], cwd=root, capture_output=True,
                           text=True, check=True).stdout.split()
    names = [name for name in names if os.path.exists(os.path.join(root, name))]
    assert names
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = [names[i:i + PARTS] for i in range(0, len(names), PARTS)]
        found = [name for part in pool.map(lambda p: misformatted(root, p), parts) for name in part]
    if found:
        print(f"not laid out as .clang-format says; mend it by:\n  {CLANG_FORMAT} -i {' '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
