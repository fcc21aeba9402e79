"""Layering and cleanliness of the tree, from the list of files in git (or the folder where there is no git).

usage: style_test.py SOURCE_DIR
Every complaint names file and line. Rules are functions below; each takes (path, lines) and yields (line, text), but for
arrows(), which looks at the whole tree.
"""
import os
import re
import subprocess
import sys

import python_source
from declarations import code_of, counterpart, declarations, functions, has_behaviour, members

# A layer may include itself and what stands after it.
LAYERS = {
    "base": (),
    "wire": ("base",),
    "core": ("wire", "base"),
    "simnet": ("core", "wire", "base"),
    "datapath": ("core", "simnet", "wire", "base"),
    "ctl": ("base",),
    "device": ("ctl", "datapath", "core", "simnet", "wire", "base"),
    "api": ("device", "ctl", "datapath", "core", "wire", "base"),
}
SANS_IO = ("base", "wire", "core", "simnet", "ctl")
MAX_LINES = 600
MAX_README = 120
MAX_FUNCTION = 70
MAX_MEMBERS = 15
PRODUCT = ("libmrc/", "verbs-shim/", "nccl-plugin/", "tools/", "sim/")
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "libmrc", "nccl-plugin", "sim", "spec", "tests", "tools", "verbs-shim"}
# Outside libmrc these may look below the public headers: the simulator and the switch, tests, and tools that decode or replay.
INSIDERS = ("sim/", "tests/", "tools/mrclog/", "tools/dissector/", "tools/dev/wire-tables/", "tools/dev/udp-limit/", "tools/mrc-info/", "tools/mrcctl/", "tools/mrcd/", "tools/mrc-switch/")

AMBIENT_HEADERS = re.compile(
    r"#\s*include\s*<(chrono|ctime|time\.h|sys/time\.h|random|thread|mutex|shared_mutex|condition_variable|future|pthread\.h|"
    r"sys/socket\.h|netinet/.*|sys/epoll\.h|poll\.h|fstream|iostream|unistd\.h|fcntl\.h)>")
AMBIENT_CALLS = re.compile(
    r"(?<![\w.>:])(?:std::|::)?(getenv|secure_getenv|rand|srand|random|drand48|time|clock|clock_gettime|gettimeofday|getrandom|socket|"
    r"sendmsg|recvmsg|sendmmsg|recvmmsg|usleep|nanosleep|pthread_\w+)\s*\(")
AMBIENT_NAMES = re.compile(r"std::(chrono|random_device|thread|jthread|mutex|this_thread|async)\b|\b(steady_clock|system_clock)\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SKIP = re.compile(r"\bGTEST_SKIP\b")
SKIP_WITHOUT_REASON = re.compile(r"\bGTEST_SKIP\b(?!\(\)\s*<<\s*\S)")
MACHINE_PATH = re.compile(r"(?<![\w.])(/work/|/home/\w+|/root/)")
NS3_INCLUDE = re.compile(r"#\s*include\s*<ns3/")
NS3_SOURCE = "sim/model/simulator.cc"  # the only source built as C++17
LOCAL_INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')


def files(root):
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
        names = listed.stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        names = [os.path.relpath(os.path.join(folder, name), root) for folder, dirs, found in os.walk(root)
                 if not re.search(r"/(build[^/]*|\.git|out)(/|$)", folder[len(root):]) for name in found]
    return [n for n in names if n and os.path.isfile(os.path.join(root, n))]


def conclude(found, count, what):
    """Prints the complaints and their number beside that of what was looked at; the exit status."""
    for text in found:
        print(text)
    print(f"{count} {what}, {len(found)} complaints")
    return 1 if found or not count else 0


def strip_comments(lines):
    """Code alone: comments and string literals become blank, line numbers stay."""
    text = "\n".join(lines)
    pattern = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*(?:.|\n)*?\*/')

    def blank(match):
        found = match.group(0)
        if found.startswith(('"', "'")) and "include" in text[max(0, match.start() - 12):match.start()]:
            return found
        return re.sub(r"[^\n]", " ", found)

    return pattern.sub(blank, text).split("\n")


def layer_of(path):
    parts = path.split("/")
    return parts[2] if path.startswith("libmrc/src/") and len(parts) > 3 and parts[2] in LAYERS else None


def check_layers(path, lines):
    layer = layer_of(path)
    if layer is None:
        return
    for number, line in enumerate(lines, 1):
        match = LOCAL_INCLUDE.match(line)
        if match and "/" in match.group(1):
            other = match.group(1).split("/")[0]
            if other in LAYERS and other != layer and other not in LAYERS[layer]:
                yield number, f"layer {layer} includes {match.group(1)}, which is not below it"


# Which top-level folders one includes besides itself. tests includes all, and so does sim/test.
ARROWS = {
    "libmrc": (),
    "nccl-plugin": ("libmrc",),
    "sim": ("libmrc",),
    "tools": ("libmrc", "nccl-plugin", "sim", "verbs-shim"),
    "verbs-shim": ("libmrc",),
}


def arrows(tree):
    """`tree`: path -> lines. (path, line, text) of each include of a header that only other top-level folders have."""
    holders = {}
    for path in tree:
        if path.endswith(".h"):
            holders.setdefault(os.path.basename(path), []).append(path)
    for path, lines in sorted(tree.items()):
        top = path.split("/")[0]
        if top not in ARROWS or path.startswith("sim/test/") or not path.endswith((".h", ".cc", ".c")):
            continue
        for number, line in enumerate(lines, 1):
            match = LOCAL_INCLUDE.match(line)
            name = match.group(1) if match else ""
            found = {holder.split("/")[0] for holder in holders.get(os.path.basename(name), ()) if f"/{holder}".endswith(f"/{name}")}
            if found and not found & {top, *ARROWS[top]}:
                yield path, number, f"{top} includes {name}, which is in {' and '.join(sorted(found))}"


def check_ambient(path, lines):
    if layer_of(path) not in SANS_IO:
        return
    for number, line in enumerate(lines, 1):
        for pattern in (AMBIENT_HEADERS, AMBIENT_CALLS, AMBIENT_NAMES):
            match = pattern.search(line)
            if match:
                yield number, f"no clocks, randomness, environment, sockets or threads below the datapath: {match.group(0).strip()}"


def check_outsiders(path, lines):
    if path.startswith(("libmrc/", *INSIDERS)):
        return
    for number, line in enumerate(lines, 1):
        match = LOCAL_INCLUDE.match(line)
        if match and match.group(1).split("/")[0] in LAYERS and "/" in match.group(1):
            yield number, f"includes {match.group(1)}: only public headers are to be used here"


def check_ns3(path, lines):
    for number, line in enumerate(lines, 1):
        if path != NS3_SOURCE and NS3_INCLUDE.match(line):
            yield number, f"ns-3 does not compile as C++20: only {NS3_SOURCE} includes it"


# Test programs are run by tests, never with privileges that their user has not.
ENVIRONMENT_CALLS = re.compile(r"\b((?:secure_)?getenv|envname)\s*\(")


def check_environment(path, lines):
    if path.startswith("tests/") or path == "libmrc/environment/secure_environment.h":
        return
    for number, line in enumerate(lines, 1):
        match = ENVIRONMENT_CALLS.search(line)
        if match:
            yield number, f"{match.group(1)}: variables are read by mrc::environment::variable() (secure_environment.h)"


# clang's analysis covers the locks of mutex.h only.
STD_LOCKS = re.compile(r"\bstd::(\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable\w*)\b")
LOCKS = ("libmrc/environment/mutex.h", "libmrc/src/device/device_lock.h")


def check_locks(path, lines):
    if path.startswith("tests/") or path in LOCKS:
        return
    for number, line in enumerate(lines, 1):
        match = STD_LOCKS.search(line)
        if match:
            yield number, f"{match.group(0)}: locks are those of {LOCKS[0]}, which the compiler checks"


def check_length(path, lines):
    if path.startswith("libmrc/src/") and len(lines) > MAX_LINES:
        yield len(lines), f"{len(lines)} lines, at most {MAX_LINES}: split it by concern"
    if path == "README.md" and len(lines) - (lines[-1] == "") > MAX_README:
        yield len(lines), f"{len(lines)} lines, at most {MAX_README}: details belong into a page that it names"


def check_functions(_path, lines):
    text = code_of(lines)
    for found in functions(text):
        first, last = (text.count("\n", 0, at) + 1 for at in (found.begin, found.end))
        if last - first + 1 > MAX_FUNCTION:
            yield first, f"a function of {last - first + 1} lines, at most {MAX_FUNCTION}: split it by step"


def check_python_functions(path, lines):
    if not python_source.is_python(path, lines):
        return
    for first, count in python_source.functions(lines):
        if count > MAX_FUNCTION:
            yield first, f"a function of {count} lines, at most {MAX_FUNCTION}: split it by step"


# Structs that none of their functions changes are exempt: configuration, attributes, counters and statuses are lists of values, as
# long as what they describe.
TYPE = re.compile(r"(?<!enum )\b(class|struct)\s+(?:\w+\([^)]*\)\s+)?(\w+(?:::\w+)*)(?:\s+final)?(?:\s*:[^{};()]*)?\s*\{")


def check_members(path, lines):
    if not path.startswith(PRODUCT):
        return
    text = code_of(lines)
    for found in TYPE.finditer(text):
        word, name = found.groups()
        body = list(declarations(text, found.end(), counterpart(text, found.end() - 1)))
        count = len(members(text, body))
        if count > MAX_MEMBERS and (word == "class" or has_behaviour(name.split("::")[-1], body)):
            yield text.count("\n", 0, found.start()) + 1, (
                f"{word} {name} has {count} data members, at most {MAX_MEMBERS}: split it by concern")


# Descriptors and folders close themselves (fd.h and folder.h in libmrc/environment), so that no return and no exception leaks one.
CLOSE = re.compile(r"(?<![\w.>:~])(?:::)?close\((?!\)|int |const |\w+\* )")
CLOSEDIR = re.compile(r"(?<![\w.>:~])(?:::)?closedir\(")
NUMBER_TAKEN = re.compile(r"static_cast<bool>\(\w*fd\w*\.get\(\)\)|!\w*fd\w*\.get\(\)")
CLOSES = {
    "libmrc/environment/fd.h": "the object itself",
    "libmrc/environment/folder.h": "the object itself",
    "libmrc/src/core/sent_packets.h": "a function of its own",
    "nccl-plugin/src/device.cc": "a function of its own",
    "tools/mrcd/state_file.cc": "the error of close counts",
    "tools/dev/socket-limit/sockets.cc": "stands alone, as a program that knows nothing of MRC",
    "verbs-shim/interpose/folders.cc": "a folder as fdopendir would have it",
    "verbs-shim/objects/context.cc": "cmd_fd, a member of libibverbs",
}


def check_close(path, lines):
    if not path.startswith(PRODUCT) or any(path.startswith(name) for name in CLOSES):
        return
    for number, line in enumerate(lines, 1):
        if CLOSE.search(line):
            yield number, "a descriptor is closed by hand: hold it in an Fd (fd.h)"
        if CLOSEDIR.search(line):
            yield number, "a folder is closed by hand: hold it in a Folder (folder.h)"
        if NUMBER_TAKEN.search(line):
            yield number, "-1 counts as true, and 0 as false: ask the Fd itself"


# A device's time is that of its clock (libmrc/src/device/clock.h), which a test replaces. Only threads that wait in the kernel read
# the host's, because their time cannot be another one.
HOST_TIME = re.compile(r"\bclock_(?:now|ns|gettime)\s*\(|\b(?:gettimeofday|timespec_get)\s*\(|(?<![\w.>:])(?:std::|::)time\s*\(|"
                       r"\b(?:steady|system|high_resolution)_clock\b")
HOST_CLOCKS = {
    "libmrc/src/device/clock.h": "the clock itself",
    "libmrc/src/device/helper.cc": "a thread that waits in the kernel",
    "libmrc/src/device/stand_in.cc": "a thread that waits in the kernel",
    "libmrc/src/device/daemon_link.cc": "waits for mrcd, another process",
    "libmrc/src/device/trace_file.cc": "the date in a trace's header, which people read",
    "libmrc/src/datapath/udp/loop_check.cc": "waits for the kernel to loop packets back, before the device exists",
}


# One way for each: a time before all others, the reason of a failure, and the object to which a part returns what it took.
LONG_AGO = re.compile(r"\bINT64_MIN\s*/|numeric_limits<int64_t>::(?:min|lowest)\(\)\s*/")
ERROR_OUT = re.compile(r"\bstd::string\s*\*\s*(?:const\s+)?(?:error|err|why|reason)\b")
COOKIE = re.compile(r"\bvoid\s*\*\s*(?:const\s+)?\w*cookie\w*\b")
ONE_WAY = {
    "libmrc/src/base/time.h": "kLongAgo itself",
    "libmrc/src/datapath/dpdk/": "the entry of a module that may be of another version",
}


def check_one_way(path, lines):
    if not path.startswith(PRODUCT) or path.startswith("sim/test/") or any(path.startswith(name) for name in ONE_WAY):
        return
    for number, line in enumerate(lines, 1):
        if LONG_AGO.search(line):
            yield number, "a time before all others is kLongAgo (base/time.h)"
        if ERROR_OUT.search(line):
            yield number, "the reason of a failure is returned: Result or Status (result.h)"
        if COOKIE.search(line):
            yield number, "a pointer of no type: name the type, as completions go to a core::QpSink"


# A library's messages go through its log, which knows the lowest severity and the prefix that its user has set.
TO_STDERR = re.compile(r"\bstd::(?:cerr|clog)\b|\b(?:stderr|STDERR_FILENO)\b|\bperror\s*\(|\bwrite\s*\(\s*2\s*,")
LOGGED = ("libmrc/src/", "verbs-shim/", "nccl-plugin/")
LOGS = {
    "libmrc/src/device/log.cc": "the log itself",
    "nccl-plugin/src/log.cc": "the log itself, where NCCL gives it no logger",
    "verbs-shim/settings/log.cc": "the log itself",
}


# A text is split by absl::StrSplit where abseil's strings are linked: the preloaded shim and NCCL's plugin link none.
ARGUMENT = r"(?:[^(),;]|\((?:[^()]|\([^()]*\))*\))+"
SPLIT_BY_STREAM = re.compile(rf"\bgetline\({ARGUMENT},{ARGUMENT},")
ABSEIL = ("libmrc/src/", "libmrc/support/", "sim/", "tools/")
STREAMS = {"tools/mrclog/log.cc": "records of a file, which is larger than a text"}


# What sources in some folders must not contain: where, the files that may and why, what, and what to do instead.
BANNED = (
    ("libmrc/src/", HOST_CLOCKS, HOST_TIME, "the time of a device is that of its clock (clock.h): only threads that wait in the kernel read the host's"),
    (LOGGED, LOGS, TO_STDERR, "a library writes messages by its log (log.h) only"),
    (ABSEIL, STREAMS, SPLIT_BY_STREAM, "a text is split by absl::StrSplit"),
)


def check_banned(path, lines):
    for folders, exempt, pattern, why in BANNED:
        if not path.startswith(folders) or path in exempt:
            continue
        yield from ((number, why) for number, line in enumerate(lines, 1) if pattern.search(line))


def check_unfinished(path, lines):
    skipped, why_not = (SKIP_WITHOUT_REASON, "a skip names what the machine lacks: GTEST_SKIP() << reason")
    if path.endswith((".h", ".cc")) and not path.startswith("tests/system/"):
        skipped, why_not = (SKIP, "a skipped test tests nothing, and only tests of tests/system depend on the machine")
    for number, line in enumerate(lines, 1):
        for pattern, why in ((UNFINISHED, "unfinished work belongs in an issue"), (skipped, why_not), (MACHINE_PATH, "path of one machine")):
            match = pattern.search(line)
            if match:
                yield number, f"{match.group(0)}: {why}"


def check_pragma(path, lines):
    if path.startswith("libmrc/src/") and path.endswith(".h") and "#pragma once" not in lines:
        yield 1, "#pragma once is missing"


def check_place(path, _lines):
    top = path.split("/")[0]
    if top not in TOP_LEVEL and not top.startswith("."):
        yield 1, f"'{top}' at the top level, where there are only {', '.join(sorted(TOP_LEVEL))} and dot files"


def complaints(path, lines):
    code = strip_comments(lines) if path.endswith((".h", ".cc", ".c")) else lines
    found = [*check_place(path, lines), *check_length(path, lines), *check_python_functions(path, lines)]
    if path.endswith((".h", ".cc", ".c")):
        for rule in (check_layers, check_ambient, check_outsiders, check_ns3, check_environment, check_locks,
                     check_functions, check_members, check_close, check_one_way, check_banned, check_pragma):
            found += rule(path, code)
    if not path.startswith("tests/facts/style/"):
        found += check_unfinished(path, lines)
    return found


def expect(bad, good):
    """`bad`: path -> (number of complaints, lines). `good`: path -> lines."""
    for path, (count, lines) in bad.items():
        found = complaints(path, lines)
        assert len(found) == count, (path, found)
    for path, lines in good.items():
        assert not complaints(path, lines), (path, complaints(path, lines))


def self_test_of_layers():
    bad = {
        "libmrc/src/core/a.cc": (5, ['#include "datapath/datapath.h"', "int x = rand();", "#include <chrono>", "std::mutex m;"]),
        "libmrc/src/wire/a.h": (3, ["int y = getenv(\"A\") != nullptr;"]),
        "tools/mrc-perf/a.cc": (4, ['#include "core/endpoint.h"', "x = std::getenv(name);", "y = secure_getenv(name);", "o->envname(z);"]),
        "sim/model/a.h": (1, ["#include <ns3/simulator.h>"]),
        "verbs-shim/objects/a.h": (3, ["std::mutex m;", "std::lock_guard lock(m);", "std::condition_variable_any c;", "// std::mutex"]),
    }
    good = {
        "libmrc/src/core/a.cc": ['#include "wire/packet.h"', "// no clock here, rand() is forbidden", 'Instant time_of(x); f.time(3); "rand()";'],
        "tools/mrc-perf/a.cc": ['#include "options.h"'],
        NS3_SOURCE: ["#include <ns3/simulator.h>"],
    }
    expect(bad, good)


def self_test_of_texts():
    bad = {
        "libmrc/src/api/long.cc": (1, ["int z;"] * (MAX_LINES + 1)),
        "libmrc/src/base/b.cc": (1, ["// " + "TO" + "DO later"]),
        "tests/system/skips_test.cc": (2, ["if (a) GTEST_SKIP();", "GTEST_SKIP()", "    << why;"]),
        "tests/fast/skips_test.cc": (1, ['GTEST_SKIP() << "needs root";']),
        "README.md": (2, ["see /work" + "/main"] + ["text"] * MAX_README),
        "cmake/a.cmake": (1, ["set(x 1)"]),
    }
    good = {
        "tests/system/reason_test.cc": ['if (::geteuid() != 0) GTEST_SKIP() << "needs root";'],
        "libmrc/src/api/short.cc": ["int z;"] * MAX_LINES,
    }
    expect(bad, good)


def self_test_of_functions():
    bad = {
        "libmrc/src/core/c.cc": (1, ["void f(int x) {"] + ["  g();"] * (MAX_FUNCTION - 1) + ["}"]),
        "tools/mrc-perf/c.cc": (1, ["void f(int x) {"] + ["  g();"] * (MAX_FUNCTION - 1) + ["}"]),
        "tools/mrc-perf/wrapped.cc": (1, ["namespace {", "std::vector<int> f(const std::string& text, int x,", "                   int y) {"] +
                                         ["  g();"] * (MAX_FUNCTION - 2) + ["}", "}"]),
        "libmrc/src/core/inside.h": (1, ["#pragma once", "class Inside : public Base {", " public:", "  explicit Inside(int x) : a_{x} {}", "  bool f() const override {"] +
                                        ["    g();"] * (MAX_FUNCTION - 1) + ["  }", "  int a_;", "};"]),
        "tests/system/long.py": (2, ["def f():"] + ["    g()"] * MAX_FUNCTION + ["class A:", "    @g", "    def f(self):"] + ["        g()"] * (MAX_FUNCTION - 1)),
        "tools/dev/long": (1, ["#!/usr/bin/env python3", "async def f():"] + ["    g()"] * MAX_FUNCTION),
    }
    good = {
        "tests/system/short.py": ["def f():"] + ["    g()"] * (MAX_FUNCTION - 1) + ["", "g()"] * MAX_FUNCTION,
        "tools/dev/script": ["#!/bin/sh", "def f():"] + ["    g()"] * MAX_FUNCTION,
        "libmrc/src/core/d.cc": ["struct A {", "};"] + (["void f(int x) {"] + ["  g();"] * (MAX_FUNCTION - 2) + ["}"]) * 2,
        "libmrc/src/core/e.cc": ["const int kTable[] = {"] + ["    1,"] * MAX_FUNCTION + ["};", "#define F(x) \\", "  void f(int x) {"] +
                                ["class A {", "  enum class E {"] + ["    kOne,"] * MAX_FUNCTION + ["  };", "  void f(int x,", "         int y) {"] +
                                ["    g();"] * (MAX_FUNCTION - 3) + ["  }", "  std::function<void(int)> g = [](int) {"] + ["    h();"] * MAX_FUNCTION + ["  };", "};"],
    }
    expect(bad, good)


def self_test_of_members():
    bad = {
        "libmrc/src/core/wide.h": (1, ["#pragma once", "class Wide final : public Base<int> {", " public:", "  explicit Wide(int x) : a_(x), b_{x} {}",
                                       "  int f() const { return a_; }", " private:", "  int a_, b_ = 0;"] +
                                      [f"  std::map<int, std::pair<int, int>> m{i}_{{1, {{2}}}};" for i in range(MAX_MEMBERS - 1)] + ["};"]),
        **{f"libmrc/{folder}/wide.h": (1, ["class Wide {"] + [f"  int m{i}_ = 0;" for i in range(MAX_MEMBERS + 1)] + ["};"])
           for folder in ("environment", "support", "provider")},
        "verbs-shim/objects/wide.h": (1, ["class Wide {", "  Mutex m_;"] + [f"  int m{i}_ ABSL_GUARDED_BY(m_) = 0;" for i in range(MAX_MEMBERS)] + ["};"]),
        "nccl-plugin/src/wide.cc": (1, ["class Outer::Wide : public Base {"] + [f"  int m{i}_ = 0;" for i in range(MAX_MEMBERS + 1)] + ["};"]),
        "verbs-shim/objects/open.h": (1, ["class Open {", " public:", "  std::function<void(int)> done;", "  int (*f)(int);", " private:"] +
                                         [f"  int m{i}_ = 0;" for i in range(MAX_MEMBERS - 1)] + ["};"]),
        "libmrc/src/core/busy.h": (1, ["#pragma once", "struct Busy {", "  Busy() : m0{1} {}", "  void f(int x) {", "    if (x > 0) m0 = x;", "  }"] +
                                      [f"  int m{i} = 0;" for i in range(MAX_MEMBERS - 1)] + ["  struct {", "    int a, b;", "  } pair, last;", "};"]),
        "libmrc/src/core/hidden.h": (1, ["#pragma once", "class Hidden {", "  struct {", "    int a = 0;", "    union {", "      int b;", "      char c;", "    };",
                                         "  } parts_;"] + [f"  int m{i}_ = 0;" for i in range(MAX_MEMBERS - 2)] + ["};"]),
    }
    good = {
        "libmrc/src/core/narrow.h": ["#pragma once", "class Narrow {", "  Narrow(int x) : a_(x), b_{x} {}", "  void f(int x_, int y_) { a_ = x_; }",
                                     "  struct Config {", "    int c_ = 0, d_ = 0;", "  };", "  using T = int;", "  int a_, b_ = 0;"] +
                                    [f"  std::function<void(int)> m{i}_;" for i in range(MAX_MEMBERS - 2)] + ["};"],
        "verbs-shim/objects/narrow.h": ["class Narrow {", "  void f() ABSL_EXCLUSIVE_LOCKS_REQUIRED(m_, x_->lock()) ABSL_LOCKS_EXCLUDED(n_);",
                                        "  virtual int g(int a) ABSL_LOCKS_EXCLUDED(m_) = 0;", "  Mutex m_, n_;"] +
                                       [f"  int m{i}_ ABSL_GUARDED_BY(m_) = 0;" for i in range(MAX_MEMBERS - 2)] + ["};"],
        "libmrc/src/core/shown.h": ["#pragma once", "class Shown {", "  struct {", "    int a = 0, b = 0;", "  } parts_;", "  T t_;"] +
                                   [f"  int m{i}_ = 0;" for i in range(MAX_MEMBERS - 3)] + ["};"],
        "libmrc/src/core/list.h": ["#pragma once", "struct List {", "  explicit List(int x) : m0(x) {}", "  bool f() const { return m0 > 0; }",
                                   "  static constexpr int kA = 1, kB = 2;", "  bool operator==(const List& other) const = default;"] +
                                  [f"  int m{i} = 0;" for i in range(MAX_MEMBERS + 1)] + ["};"],
        "libmrc/src/core/busy.h": ["#pragma once", "struct Busy {", "  void f() { m0 = 1; }", "  static constexpr int kA = 1;", "  enum class E { kOne, kTwo };",
                                   "  using T = int;"] + [f"  int m{i} = 0;" for i in range(MAX_MEMBERS)] + ["};"],
        "libmrc/src/core/config.h": ["#pragma once", "struct Config {"] + [f"  int m{i}_ = 0;" for i in range(MAX_MEMBERS + 1)] + ["};"],
    }
    expect(bad, good)


def self_test_of_ways():
    bad = {
        "tools/mrcd/close.cc": (8, ["close(fd);", "::close(x_);", "if (fd_ >= 0) close(fd_);", "link.close();", "void close(int fd);", "Devices::close(d);",
                                    "  close(home);", "close(c.fd);", "return static_cast<bool>(fd_.get());", "if (!fd.get()) f();", "  ::closedir(d);"]),
        "tools/mrcd/one_way.cc": (5, ["int64_t last = INT64_MIN / 4;", "bool open(std::string* error);", "std::string* const why = &text;",
                                      "void* cookie = nullptr;", "void f(void *const cookie);"]),
        "libmrc/src/device/time.cc": (3, ["const Instant now = clock_now();", "until = mrc::device::clock_now() + max;", "x = ::time(nullptr);"]),
        "libmrc/src/datapath/time.cc": (2, ["auto t = std::chrono::steady_clock::now();", "environment::clock_ns(CLOCK_MONOTONIC);"]),
    }
    good = {
        "tools/mrcd/one_way.cc": ["void line(std::string* text);", "int64_t least = INT64_MIN;", "uint64_t cookie = 0; void* memory;"],
        "libmrc/src/device/helper.cc": ["const Instant now = clock_now();"],
        "libmrc/src/device/now.cc": ["const Instant now = clock_.now();", "f.time(3); Sim::time(4); Instant time(int);"],
    }
    expect(bad, good)


def self_test_of_messages():
    bad = {
        "libmrc/src/device/messages.cc": (4, ['std::fprintf(stderr, "%s", text);', 'std::cerr << "x";', "::write(STDERR_FILENO, text, size);", 'perror("x");']),
        "libmrc/src/datapath/dpdk/module/messages.cc": (2, ["fputs(text, stderr);", "write(2, text, size);"]),
        "verbs-shim/objects/messages.cc": (1, ["std::clog << x;"]),
        "nccl-plugin/src/messages.cc": (1, ['fprintf(stderr, "x");']),
        "libmrc/support/split.cc": (1, ["while (std::getline(in, word, ',')) f();"]),
        "tools/mrcctl/split.cc": (1, ["for (std::string word; getline(text_of(a), word, kSeparator);) f();"]),
    }
    good = {
        "libmrc/src/device/log.cc": ["::write(STDERR_FILENO, text, size);"],
        "libmrc/src/device/messages.cc": ['log("stderr");  // std::cerr', "#include <cerrno>", "::write(fd, text, 2);", "int stderr_of(int fd);"],
        "libmrc/support/command_line.cc": ['std::fprintf(stderr, "x");'],
        "tools/mrcd/messages.cc": ['std::fprintf(stderr, "x");', "while (std::getline(in, line)) f(a, b);", "getline(open(a, b), line);"],
        "tools/mrclog/log.cc": ["while (std::getline(in, record, kSeparator)) f();"],
        "verbs-shim/objects/split.cc": ["while (std::getline(in, word, ',')) f();"],
    }
    expect(bad, good)


def self_test_of_arrows():
    headers = {path: [] for path in ("libmrc/support/both.h", "tools/lib/both.h", "tools/lib/xml.h", "sim/queue/rules.h", "tests/harness/text.h")}
    reader = {"sim/helper/a.cc": ['#include "both.h"', '#include "rules.h"', '#include "nowhere.h"'], "sim/test/a.cc": ['#include "xml.h"'],
              "tools/mrcd/a.cc": ['#include "sim/queue/rules.h"', '#include "xml.h"']}
    assert not list(arrows({**headers, **reader})), list(arrows({**headers, **reader}))
    for path, name in (("sim/helper/b.cc", "xml.h"), ("libmrc/src/api/b.cc", "sim/queue/rules.h"), ("tools/mrcd/b.cc", "harness/text.h")):
        assert len(list(arrows({**headers, path: [f'#include "{name}"']}))) == 1, path


def self_test():
    """Each rule must be able to fail."""
    for part in (self_test_of_layers, self_test_of_texts, self_test_of_functions, self_test_of_members, self_test_of_ways,
                 self_test_of_messages, self_test_of_arrows):
        part()


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    tree = {}
    for path in sorted(files(root)):
        if path.startswith("spec/vectors/") or "/corpus/" in path:
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as source:
                lines = source.read().split("\n")
        except UnicodeDecodeError:
            continue
        tree[path] = lines
    found = [(path, number, text) for path, lines in tree.items() for number, text in complaints(path, lines)]
    found += arrows(tree)
    return conclude([f"{path}:{number}: {text}" for path, number, text in found], len(tree), "files")


if __name__ == "__main__":
    sys.exit(main())
