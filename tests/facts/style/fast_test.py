"""Tests of the fast tier run in virtual time: nothing in them depends on the host.

usage: fast_test.py SOURCE_DIR
Looked at: tests/fast, and the C++ of tests/fuzz, sim/test and tests/harness (but for the limits of tests/system). Complaints:
clocks, sleeps, sockets, threads, processes, environment variables and randomness without a seed, and exceptions below that are
not needed any more. Death tests of GoogleTest are allowed: their child only ends.
"""
import os
import re
import sys

from style_test import conclude, files, strip_comments

FAST = "tests/fast/"
CPP_ALONE = ("tests/fuzz/", "tests/harness/", "sim/test/")
LIMITS = "tests/harness/limits.h"  # for tests/system: limits of real time
# Environment variables that a test may read: the swarm's seeds, and whether a generated file is compared or written.
VARIABLES = {"MRC_SWARM_SEEDS", "MRC_SWARM_FIRST", "MRC_WRITE_GOLDEN", "MRC_WRITE_SPEC"}

# Files that use one of these, with the reason.
EXCEPTIONS = {
    ("tests/fast/unit/core/placement_test.cc", "threads"): "what another thread sees of a write that is being placed; no time is measured",
    ("tests/fast/unit/shim/forks_test.cc", "processes"): "what a child of fork() inherits; it ends at once",
    ("tests/fast/nccl/core_test.cc", "environment"): "the plugin's settings are variables; the test sets each of those that it reads",
    ("tests/fast/mrcctl/test_ev_expand.py", "processes"): "mrcctl ev expand reads one file and ends",
}


def headers(names):
    return rf"#\s*include\s*<(?:{names})>"


def calls(names):
    """Functions of the C library, not members and not functions of other namespaces."""
    return rf"(?<![\w.>:])(?:std::|::)?(?:{names})\s*\("


CPP = {
    "clocks": "|".join((headers(r"ctime|time\.h|sys/time\.h|sys/timerfd\.h"), r"\b(?:steady|system|high_resolution|file|utc)_clock\b",
                        calls("time|clock|clock_gettime|gettimeofday|timespec_get|timerfd_create"), r'#\s*include\s*"harness/limits\.h"')),
    "sleeps": "|".join((r"\bsleep_(?:for|until)\b", calls("sleep|usleep|nanosleep|clock_nanosleep|poll|ppoll|select|epoll_wait"),
                        headers(r"poll\.h|sys/epoll\.h|sys/select\.h"))),
    "sockets": "|".join((headers(r"sys/socket\.h|sys/un\.h|netdb\.h|linux/if_packet\.h|linux/netlink\.h"), calls("socket|socketpair"))),
    "threads": "|".join((headers("thread|mutex|shared_mutex|condition_variable|future|barrier|latch|semaphore|stop_token|pthread.h"),
                         r"\bstd::(?:j?thread|this_thread|async|\w*mutex|condition_variable\w*)\b", calls(r"pthread_\w+"))),
    "processes": "|".join((headers(r"sys/wait\.h|spawn\.h|sched\.h"), calls(r"v?fork|clone|exec[lv]\w*|posix_spawnp?|popen|system|waitpid"))),
    "environment": r"\b(?:(?:secure_)?getenv|(?:un)?setenv|putenv|clearenv|environ)\b",
    "randomness": "|".join((r"\brandom_device\b", calls("s?rand|srandom|drand48|getrandom|arc4random"))),
}
PYTHON = {
    "clocks": r"^\s*(?:import|from) (?:time|datetime|limits)\b",
    "sleeps": r"^\s*(?:import|from) (?:wait|select|sched)\b",
    "sockets": r"^\s*(?:import|from) (?:socket|asyncio|ports|namespaces|srv6_lab)\b",
    "threads": r"^\s*(?:import|from) (?:threading|concurrent)\b",
    "processes": r"^\s*(?:import|from) (?:subprocess|multiprocessing|process)\b|\bos\.(?:fork|exec\w+|spawn\w+|system|popen)\b",
    "environment": r"\bos\.(?:environb?|getenv|putenv)\b|^\s*(?:import|from) environment\b",
    "randomness": r"\bSystemRandom\b|\brandom\.Random\(\)|\bos\.urandom\b|^\s*(?:import|from) secrets\b",
}
CPP, PYTHON = ({kind: re.compile(pattern) for kind, pattern in table.items()} for table in (CPP, PYTHON))
READ_VARIABLE = re.compile(r'\bgetenv\("(\w+)"\)')


def looked_at(path):
    cpp = path.startswith((FAST, *CPP_ALONE)) and path.endswith((".h", ".cc", ".c")) and path != LIMITS
    return cpp or path.startswith(FAST) and path.endswith(".py")


def uses(path, lines):
    """(line, kind, text) of everything in a file that is not virtual."""
    table, code = (PYTHON, lines) if path.endswith(".py") else (CPP, strip_comments(lines))
    for number, line in enumerate(code, 1):
        for kind, pattern in table.items():
            variables = READ_VARIABLE.findall(lines[number - 1]) if kind == "environment" else ()
            for at, match in enumerate(pattern.finditer(line)):
                if not (at < len(variables) and variables[at] in VARIABLES):
                    yield number, kind, match.group(0).strip()


def complaints(tree):
    """`tree`: path -> lines of the files to look at."""
    needed = set()
    for path, lines in sorted(tree.items()):
        for number, kind, text in uses(path, lines):
            if (path, kind) in EXCEPTIONS:
                needed.add((path, kind))
            else:
                yield f"{path}:{number}: {kind}: {text}: a fast test has none; declare it below tests/system"
    for path, kind in sorted(set(EXCEPTIONS) - needed):
        yield f"tests/facts/style/fast_test.py: {path} needs no exception for {kind}"


def self_test():
    """Each rule must be able to fail."""
    global EXCEPTIONS
    kept, EXCEPTIONS = EXCEPTIONS, {("tests/fast/threads_test.cc", "threads"): "a reason"}
    threads = {"tests/fast/threads_test.cc": ["std::thread reader(f);"]}
    try:
        good = {"tests/fast/a_test.cc": ["#include <chrono>", "#include <atomic>", "std::chrono::milliseconds(3);", "x.time(now); fabric->poll(4);",
                                         "// time(nullptr), std::thread", 'say("getenv(");', 'EXPECT_DEATH(f(), "x");', "std::mt19937 random(7);",
                                         'if (std::getenv("MRC_SWARM_SEEDS")) {}', "Sim::time(3); ns::socket(4); Duration wait_time(5);"],
                "tests/fast/a.py": ["import json", "lifetime = 3"]}
        assert not list(complaints({**good, **threads})), list(complaints({**good, **threads}))
        bad = {"clocks": ("auto t = std::chrono::steady_clock::now();", "::time(nullptr);", "clock_gettime(CLOCK_MONOTONIC, &t);",
                          '#include "harness/limits.h"', "#include <ctime>"),
               "sleeps": ("f::sleep_for(x);", "usleep(3);", "::poll(fds, 1, -1);"),
               "sockets": ("#include <sys/socket.h>", "int fd = ::socket(AF_INET, 1, 0);"),
               "threads": ("#include <mutex>", "std::jthread t;", "pthread_create(&t, 0, f, 0);"),
               "processes": ("if (::fork() == 0)", "execvp(name, words);", "std::system(words);"),
               "environment": ('std::getenv("HOME");', 'setenv("MRC_SWARM_SEEDS", "1", 1);', 'getenv("MRC_SWARM_SEEDS") && getenv("A");'),
               "randomness": ("std::random_device d;", "x = rand();")}
        python = {"clocks": "import time", "sleeps": "from wait import until", "sockets": "import socket", "threads": "import threading",
                  "processes": "import subprocess", "environment": 'x = os.environ["A"]', "randomness": "import secrets"}
        assert bad.keys() == CPP.keys() and python.keys() == PYTHON.keys()
        for kind, lines in bad.items():
            for name, line in [("tests/fast/b.cc", line) for line in lines] + [("tests/fast/b.py", python[kind])]:
                found = list(complaints({**good, **threads, name: [line]}))
                assert len(found) == 1 and f": {kind}: " in found[0], (line, found)
        assert len(list(complaints(good))) == 1, "an exception that nothing needs"
        assert len(list(complaints({**threads, "tests/fast/other_test.cc": ["std::thread reader(f);"]}))) == 1
    finally:
        EXCEPTIONS = kept
    assert all(map(looked_at, ("tests/fast/unit/a.cc", "tests/fuzz/a.h", "sim/test/a.cc", "tests/harness/fabric.cc")))
    assert not any(map(looked_at, ("tests/system/a.cc", "tests/harness/wait.py", "sim/test/a.py", LIMITS, "tests/fast/a.txt")))


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    tree = {}
    for path in filter(looked_at, files(root)):
        with open(os.path.join(root, path), encoding="utf-8") as source:
            tree[path] = source.read().split("\n")
    return conclude(list(complaints(tree)), len(tree), "files")


if __name__ == "__main__":
    sys.exit(main())
