"""What a run of ctest came to: counts in cases of GoogleTest, skips with their reasons, and what failed.

usage: test_summary.py LOG                    a line per reason for which something was skipped, then "N passed, N failed, N skipped"
       test_summary.py LOG --failed [FIRST]   a line "NAME<TAB>REASON" for each test that failed. FIRST is the log of the run that
                                              this one repeats: what failed there has to pass, a skip is a failure
       test_summary.py LOG --cause NAME       the line of that test's output that says why it failed
       test_summary.py --list                 of ctest's list in JSON, from the standard input, a line "NAME<TAB>KIND" for each test

Beside LOG, what ctest printed, are LOG.xml, its results; LOG.listed, the tests that had to run, from --list; and LOG.status, its exit
status. All must agree; where they do not, or are missing, that is a failure of `ctest` or of the test. An exit status of 0 is not
enough of a test whose KIND has a report of its own: the cases of GoogleTest, and the last word of tests/harness/skip.py.
REASON is "failed" of a test that ran and failed by its own verdict: only such a test may run again, and not one that crashed.
"""
import collections
import json
import os
import re
import sys
import xml.etree.ElementTree

RUNNING = re.compile(r"\[==========\] Running (\d+) tests?")
PASSED = re.compile(r"\[  PASSED  \] (\d+) tests?\.")
SKIPPED = re.compile(r"\[  SKIPPED \] (\d+) tests?, listed below")
BEGUN_CASE = re.compile(r"\[ RUN      \] (\S+)")
PASSED_CASE = re.compile(r"\[       OK \] (\S+)")
SKIPPED_CASE = re.compile(r"\[  SKIPPED \] ([^\s,]+)")
WHY_CASE = re.compile(r"^.*: Skipped\n(.+)\n", re.MULTILINE)
WHY_TEST = re.compile(r"^skipped: (.*)$", re.MULTILINE)
REPORT = re.compile(r"(?:ERROR|WARNING|FATAL): \w+Sanitizer: |Sanitizer: CHECK failed|: runtime error: ")  # of a process that it started
# What a shell says of a program that ended by a signal of its own.
CRASH = re.compile(r"^(?:\S+: (?:line )?\d+: +\d+ )?(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)\b", re.MULTILINE)
CAUSE = re.compile(r"^.*(?:E(?:rror|RROR): |WARNING: ThreadSanitizer|Failure$).*", re.MULTILINE)
DISABLED = re.compile(r"YOU HAVE \d+ DISABLED TEST")
CHILD_FAILED = re.compile(r"^.*: Failure$", re.MULTILINE)  # an assertion, of a process that the test forked
LAST_WORD = re.compile(r"^passed$", re.MULTILINE)  # of tests/harness/skip.py
GOOGLETEST, PYTHON, OTHER = "googletest", "python", "other"
SKIP = "SKIP_RETURN_CODE=77"  # in ctest's results; without it a test that did not run lacks its program
FAILED = "failed"
TESTS_FAILED = 8  # exit status of ctest


def total(pattern, text):
    return sum(int(number) for number in pattern.findall(text))


class Result:
    """Of one test. `failure` is empty where it passed or was skipped."""

    def __init__(self, case, kinds):
        self.name = case.get("name")
        self.text = case.findtext("system-out") or ""
        self.passed = self.skipped = 0
        self.failure = ""
        self.reasons = []
        status = case.get("status")
        self.failed_in_ctest = status not in ("run", "disabled")
        if REPORT.search(self.text):  # no chance: it does not run again
            self.failure = "a sanitizer reports"
        elif status == "fail" and CRASH.search(self.text):
            self.failure = "it crashed"
        elif status == "run":
            self._read_report(kinds.get(self.name, OTHER))
        elif status == "fail":
            self.failure = FAILED
        elif status == "notrun" and case.find(f"skipped[@message='{SKIP}']") is not None:
            self.failed_in_ctest = False
            self.reasons = WHY_TEST.findall(self.text)
            self.skipped = int(bool(self.reasons))
            self.failure = "" if self.reasons else "skipped without a reason"
        else:
            self.failure = "did not run: " + " ".join(self.text.split())

    def _read_report(self, kind):
        if kind == PYTHON and not LAST_WORD.search(self.text):
            self.failure = "it did not run to its end, but its exit status is 0"
        elif kind == GOOGLETEST or RUNNING.search(self.text):
            self._count_cases()
        else:
            self.passed = 1

    def _count_cases(self):
        cases, passed, skipped = (total(pattern, self.text) for pattern in (RUNNING, PASSED, SKIPPED))
        if len(RUNNING.findall(self.text)) != 1:
            self.failure = "it does not report its cases once, but its exit status is 0"
        elif DISABLED.search(self.text):
            self.failure = "some of its cases are disabled"
        elif CHILD_FAILED.search(self.text):
            self.failure = "an assertion failed, but its exit status is 0"
        elif cases and passed + skipped == cases:
            self.passed, self.skipped = passed, skipped
            self.reasons = WHY_CASE.findall(self.text)
        else:
            self.failure = f"{passed} of {cases} cases passed and {skipped} were skipped, but its exit status is 0"

    def failed_cases(self):
        """Those of GoogleTest that were begun and neither passed nor were skipped."""
        return set(BEGUN_CASE.findall(self.text)) - set(PASSED_CASE.findall(self.text)) - set(SKIPPED_CASE.findall(self.text))

    def repeats(self, first):
        """Whether what failed at first has passed now."""
        return self.passed > 0 and first.failed_cases() <= set(PASSED_CASE.findall(self.text))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read()


def listed(log):
    """Pairs of a name and a kind."""
    return [line.split("\t") for line in read(log + ".listed").splitlines()]


def results(log):
    kinds = dict(listed(log))
    return [Result(case, kinds) for case in xml.etree.ElementTree.parse(log + ".xml").getroot().iter("testcase")]


def print_list(tests):
    for test in tests:
        command = test.get("command", [])
        python = any(os.path.basename(word) == "run_one.py" for word in command)
        googletest = any(word.startswith("--gtest_filter=") for word in command)
        print(f"{test['name']}\t{GOOGLETEST if googletest else PYTHON if python else OTHER}")


def failures(log):
    """Pairs of a name and a reason."""
    status = int(read(log + ".status"))
    try:
        ran = results(log)
    except (OSError, xml.etree.ElementTree.ParseError) as why:
        yield "ctest", f"no results, exit status {status}: {why}"
        return
    for result in ran:
        if result.failure:
            yield result.name, result.failure
    wanted, names = (collections.Counter(some) for some in ((name for name, _ in listed(log)), (result.name for result in ran)))
    for name in wanted - names:
        yield name, "has no result"
    for name in names - wanted:
        yield name, "was not selected"
    if status and not (status == TESTS_FAILED and any(result.failed_in_ctest for result in ran)):
        yield "ctest", f"exit status {status}, and no failed test explains it"


def repeated_failures(log, first):
    """As failures(), of a second run."""
    found = list(failures(log))
    yield from found
    if found:
        return
    before = {result.name: result for result in results(first)}
    for result in results(log):
        if not result.repeats(before[result.name]):
            yield result.name, "did not run again: " + "; ".join(result.reasons or ["another case ran"])


def cause(log, name):
    """Of a failed test: from its own output, or else ctest's word for it."""
    for result in results(log):
        if result.name == name and (found := CAUSE.search(result.text)):
            return found[0].strip()
    found = re.search(rf"^ *\d+/\d+ Test +#\d+: {re.escape(name)} [ .]*\*\*\*(.*?)  +[\d.]+ sec", read(log), re.MULTILINE)
    return found[1] if found else f"in {log}"


def print_summary(log):
    ran = results(log)
    reasons = collections.Counter(why for result in ran for why in result.reasons)
    for why, times in sorted(reasons.items()):
        print(f"== Skipped {times}: {why}")
    print(f"{sum(result.passed for result in ran)} passed, {sum(bool(result.failure) for result in ran)} failed, "
          f"{sum(result.skipped for result in ran)} skipped")


def main():
    log, *more = sys.argv[1:]
    if log == "--list":
        print_list(json.load(sys.stdin)["tests"])
    elif more[:1] == ["--failed"]:
        found = repeated_failures(log, more[1]) if len(more) > 1 else failures(log)
        sys.stdout.writelines(f"{name}\t{why}\n" for name, why in found)
    elif more[:1] == ["--cause"]:
        print(cause(log, more[1]))
    else:
        print_summary(log)


if __name__ == "__main__":
    main()
