"""What a run of ctest came to: counts in cases of GoogleTest, skips with their reasons, and the names of failed tests.

usage: test_summary.py BUILD_DIR JUNIT_FILE [--failed]

Prints a line per reason for which something was skipped, then "N passed, N failed, N skipped". With --failed the names of
failed tests alone, one a line.
"""
import collections
import os
import re
import sys
import xml.etree.ElementTree

SUITE = re.compile(r"^\[==========\] Running", re.MULTILINE)
PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE)
FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below", re.MULTILINE)
WHY_CASE = re.compile(r"^.*: Skipped\n(.+)\n", re.MULTILINE)
WHY_TEST = re.compile(r"^skipped: (.*)$", re.MULTILINE)
ENTRY = re.compile(r'^\d+/\d+ Testing: (.+?)$(.*?)^"\1" end time', re.MULTILINE | re.DOTALL)


def outputs(build):
    """The whole output of each test; ctest cuts what it writes elsewhere."""
    with open(os.path.join(build, "Testing/Temporary/LastTest.log"), encoding="utf-8", errors="replace") as log:
        return {match[1]: match[2] for match in ENTRY.finditer(log.read())}


def number(pattern, text):
    found = pattern.search(text)
    return int(found[1]) if found else 0


def summary(tests, output):
    """tests: (name, status) as in JUnit's file. Returns passed, failed, skipped and how often each reason for a skip came."""
    passed = failed = skipped = 0
    reasons = collections.Counter()
    for name, status in tests:
        text = output.get(name, "")
        if status == "run" and SUITE.search(text):
            passed += number(PASSED, text)
            skipped += number(SKIPPED, text)
            reasons.update(WHY_CASE.findall(text))
        elif status == "run":
            passed += 1
        elif status == "notrun":
            skipped += 1
            reasons.update(WHY_TEST.findall(text) or ["no reason given by " + name])
        else:
            passed += number(PASSED, text)
            failed += max(1, number(FAILED, text))
    return passed, failed, skipped, reasons


def read(junit):
    root = xml.etree.ElementTree.parse(junit).getroot()
    return [(case.get("name"), case.get("status")) for case in root.iter("testcase")]


def main():
    build, junit, *more = sys.argv[1:]
    tests = read(junit)
    if more == ["--failed"]:
        sys.stdout.writelines(name + "\n" for name, status in tests if status == "fail")
        return
    passed, failed, skipped, reasons = summary(tests, outputs(build))
    for why, times in sorted(reasons.items()):
        print(f"== Skipped {times}: {why}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


if __name__ == "__main__":
    main()
