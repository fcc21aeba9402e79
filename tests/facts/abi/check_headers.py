#!/usr/bin/env python3
"""Compares the public headers with spec/abi/mrc_abi.json, by the compiler's own account of them.

A C program is generated that knows every fact of the file (sizes, offsets, member types, enumerators, macros, function
signatures), compiled against the headers and run, once for each version that an includer can choose; each mismatch is one
line. What the headers declare beyond the facts is a mismatch, too. Further checks: every header compiles alone as C11 and as
C++20, the version macros refuse, warn and hide as documented [API-VER-1] [API-VER-2], and the comparison itself notices a
fact that was falsified.
"""
import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PUBLIC = ["mrc.h", "mrc_ctl.h", "mrc_api_ver.h", "mrc_ctl_api_ver.h", "mrc_soft.h", "mrc_compat.h"]

USED = {"mrc.h": "MRC_API_VER_USED", "mrc_ctl.h": "MRC_CTL_API_VER_USED"}  # an includer's choice
FIRST = "1.0.0"  # of what has no version among the facts


def number(version):
    major, minor, sub = (int(part) for part in version.split("."))
    return major << 24 | minor << 16 | sub


def since(fact):
    """The version, as a number, from which on a function or a member exists."""
    return number(fact.get("since", FIRST) if isinstance(fact, dict) else (fact[4:] or [FIRST])[0])


def additions(abi):
    """Functions and members that the first version lacks, as (header, fact, C line that needs it)."""
    for function in abi["functions"]:
        if since(function) > number(FIRST):
            yield function["header"], function, f"void *f = (void *){function['name']};"
    for struct in abi["structs"]:
        for member in struct["members"]:
            if since(member) > number(FIRST):
                yield struct["header"], member, f"int n = sizeof(((struct {struct['name']} *)0)->{member[0]});"


def named(facts, name):
    return next(fact for fact in facts if fact["name"] == name)


def as_of(abi, version):
    """The facts for an includer that chose this version, a number."""
    facts = copy.deepcopy(abi)
    facts["macros"] = {}  # the same in every version
    facts["functions"] = [f for f in facts["functions"] if since(f) <= version]
    for struct in facts["structs"]:
        grown = [since(member) for member in struct["members"]]
        struct["members"] = [m for m in struct["members"] if since(m) <= version]
        if max(grown) > version:
            known = [(number(v), size) for v, size in struct.get("sizes", {}).items() if number(v) <= version]
            struct["size"] = max(known, default=(0, 0))[1]  # 0: the fact is missing
    return facts


def program(abi):
    """The C text that prints one line per fact that does not hold."""
    out = ["#include <stddef.h>", "#include <stdio.h>", "#include <string.h>",
           '#include "mrc.h"', '#include "mrc_ctl.h"',
           "static int bad;",
           "static void fact(const char *what, long long is, long long want) {",
           '  if (is != want) { printf("%s: is %lld, should be %lld\\n", what, is, want); bad = 1; }',
           "}",
           "#define SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)",
           "int main(void) {"]
    add = out.append
    for name, value in abi["macros"].items():
        if isinstance(value, int):
            add(f'  fact("{name}", (long long){name}, {value}LL);')
    for macro in ("MRC_API_VER", "MRC_CTL_API_VER"):
        add(f'  fact("{macro}(2,3,4)", {macro}(2, 3, 4), (2LL << 24) | (3 << 16) | 4);')
    add("  struct mrc_ctl_ev unpopulated = MRC_CTL_EV_UNPOPULATED;")
    add("  for (size_t i = 0; i < sizeof(unpopulated); ++i)"
        ' fact("MRC_CTL_EV_UNPOPULATED", ((unsigned char *)&unpopulated)[i], 0);')
    for name, kind in abi["typedefs"].items():
        add(f'  fact("typedef {name}", SAME_TYPE({name}, {kind}), 1);')
    for name in abi["opaque_structs"]:
        add(f'  {{ struct {name} *p = 0; fact("struct {name}", p == 0, 1); }}')
    for enum in abi["enums"]:
        add(f'  fact("sizeof(enum {enum["name"]})", sizeof(enum {enum["name"]}), 4);')
        for name, value in enum["values"]:
            add(f'  fact("{name}", (long long){name}, {value}LL);')
    for struct in abi["structs"]:
        kind = f"struct {struct['name']}"
        add(f'  fact("sizeof({kind})", sizeof({kind}), {struct["size"]});')
        for member, mtype, offset, size, *_ in struct["members"]:
            what = f"{kind}.{member}"
            add(f'  fact("offset of {what}", offsetof({kind}, {member}), {offset});')
            add(f'  fact("size of {what}", sizeof((({kind} *)0)->{member}), {size});')
            add(f'  fact("type {mtype} of {what}", SAME_TYPE(__typeof__((({kind} *)0)->{member}), {mtype}), 1);')
    for function in abi["functions"]:
        pointer = f"{function['returns']} (*)({', '.join(function['params'])})"
        add(f'  fact("signature of {function["name"]}", SAME_TYPE(__typeof__(&{function["name"]}), {pointer}), 1);')
    add("  return bad;")
    add("}")
    return "\n".join(out) + "\n"


def members(body):
    """Names of a structure's members in order, those of nested structures with the outer name in front."""
    names, at = [], 0
    while match := re.compile(r"\s*(?:(?:struct|union)\s*\{|([^;{}]+);)").match(body, at):
        at = match.end()
        if match[1]:  # a member: its name is the last word outside of brackets
            names.append(re.search(r"(\w+)\s*(?:\[[^;]*)?$", match[1])[1])
            continue
        depth, inner = 1, at
        while depth:
            depth += {"{": 1, "}": -1}.get(body[at], 0)
            at += 1
        outer = re.compile(r"\s*(\w*)\s*;").match(body, at)
        names += [f"{outer[1]}.{name}" if outer[1] else name for name in members(body[inner:at - 1])]
        at = outer.end()
    assert not body[at:].strip(), body
    return names


def declarations(text):
    """Structures with their members and enumerations with their values, of preprocessed text, by name."""
    structs = {m[1]: members(m[2]) for m in re.finditer(r"\bstruct (mrc_\w+) \{(.*?)\n\};", text, re.S)}
    enums = {m[1]: re.findall(r"(\w+)(?:\s*=[^,}]*)?(?:,|$)", " ".join(m[2].split()))
             for m in re.finditer(r"\benum (mrc_\w+) \{(.*?)\}", text, re.S)}
    return structs, enums


class Checker:
    def __init__(self, args, folder):
        self.args, self.folder, self.failures = args, pathlib.Path(folder), []

    def fail(self, text):
        self.failures.append(text)
        print("FAIL " + text)

    def compile(self, text, cxx=False, flags=(), program=None):
        source = self.folder / ("unit.cc" if cxx else "unit.c")
        source.write_text(text)
        command = [self.args.cxx if cxx else self.args.cc, "-std=c++20" if cxx else "-std=c11", "-Wall", "-Wextra",
                   "-I", self.args.include, *flags]
        command += ["-o", str(program)] if program else ["-fsyntax-only"]
        return subprocess.run(command + [str(source)], capture_output=True, text=True)

    def facts(self, abi, flags=()):
        """Lines of mismatch; None when the program does not even compile."""
        binary = self.folder / "facts"
        # Functions are only compared by type, so nothing needs to be linked.
        built = self.compile(program(abi), flags=["-O1", *flags], program=binary)
        if built.returncode:
            return None, built.stderr
        run = subprocess.run([str(binary)], capture_output=True, text=True)
        return run.stdout.splitlines(), ""

    def headers_match(self, abi):
        lines, error = self.facts(abi)
        if lines is None:
            self.fail("the facts do not compile against the headers:\n" + error)
        for line in lines or []:
            self.fail(line)

    def notices_falsified_facts(self, abi):
        def member(a):
            named(a["structs"], "mrc_qp_attr")["members"][6][2] += 1

        def size(a):
            named(a["structs"], "mrc_device_attr")["size"] += 4

        def kind(a):
            named(a["structs"], "mrc_device_attr")["members"][0][1] = "int32_t"

        def value(a):
            named(a["enums"], "mrc_qp_attr_mask")["values"][2][1] += 1

        def macro(a):
            a["macros"]["MRC_API_CURRENT_VERSION"] += 1

        def signature(a):
            named(a["functions"], "mrc_query_device")["params"][0] = "struct mrc_context *"

        for falsify in (member, size, kind, value, macro, signature):
            wrong = copy.deepcopy(abi)
            falsify(wrong)
            lines, _ = self.facts(wrong)
            if lines is None or len(lines) != 1:
                self.fail(f"a falsified {falsify.__name__} gave {lines}")

    def headers_declare_nothing_else(self, abi):
        """Every mrc function that mrc.h and mrc_ctl.h declare is a known one."""
        known = {f["name"] for f in abi["functions"]}
        for header in ("mrc.h", "mrc_ctl.h"):
            text = re.sub(r"/\*.*?\*/", "", (pathlib.Path(self.args.include) / header).read_text(), flags=re.S)
            declared = set(re.findall(r"\b(mrc_\w+)\(", text))
            wanted = {f["name"] for f in abi["functions"] if f["header"] == header}
            if declared - known:
                self.fail(f"{header} declares {sorted(declared - known)}, which the API does not have")
            if wanted - declared:
                self.fail(f"{header} lacks {sorted(wanted - declared)}")

        text = "".join(f'#include "{header}"\n' for header in ("mrc.h", "mrc_ctl.h"))
        source = self.folder / "unit.c"
        source.write_text(text)
        expanded = subprocess.run([self.args.cc, "-std=c11", "-E", "-P", "-I", self.args.include, str(source)], capture_output=True,
                                  text=True, check=True).stdout
        structs, enums = declarations(expanded)
        self.same("members", structs, {s["name"]: [m[0] for m in s["members"]] for s in abi["structs"]})
        self.same("values", enums, {e["name"]: [v[0] for v in e["values"]] for e in abi["enums"]})
        for header in ("mrc.h", "mrc_ctl.h", "mrc_api_ver.h", "mrc_ctl_api_ver.h"):
            for name in re.findall(r"^#define (\w+)[ (]", (pathlib.Path(self.args.include) / header).read_text(), re.M):
                if not any(known.split("(")[0] == name for known in abi["macros"]) and not name.endswith("_USED"):
                    self.fail(f"{header} defines {name}, which is not among the facts")

    def same(self, what, found, facts):
        for name in sorted(found.keys() | facts.keys()):
            if found.get(name) != facts.get(name):
                self.fail(f"{what} of {name}: {found.get(name)} in the headers, {facts.get(name)} in the facts")

    def headers_stand_alone(self):
        for header in PUBLIC:
            for cxx in (False, True):
                text = f'#include "{header}"\n#include "{header}"\ntypedef int something;\n'
                result = self.compile(text, cxx, ["-Werror", "-pedantic"])
                if result.returncode:
                    self.fail(f"{header} alone as {'C++20' if cxx else 'C11'}:\n{result.stderr}")

    def version_rules(self, abi):
        """Each of the four numbers, on both sides of each limit: what is chosen by it, or why it is refused."""
        numbers = [  # header, prefix of the macros, prefix of the version's name
            ("mrc_api_ver.h", "MRC_API_VER", "MRC_API"),
            ("mrc_api_ver.h", "MRC_VENDOR_API_VER", "MRC_VENDOR_API"),
            ("mrc_ctl_api_ver.h", "MRC_CTL_API_VER", "MRC_CTL_API"),
            ("mrc_ctl_api_ver.h", "MRC_CTL_VENDOR_API_VER", "MRC_CTL_VENDOR_API"),
        ]
        latest = 0xFFFFFFFF
        for header, macro, name in numbers:
            current = abi["macros"][f"{name}_CURRENT_VERSION"]
            cases = [  # what the includer defines, what it gets or None, text of the diagnostic
                (None, current, None),
                (f"{macro}_LATEST", current, None),
                ("MRC_API_VER_LATEST", current, None),
                (f"{name}_CURRENT_VERSION", current, None),
                (f"{current - 1:#x}", current - 1, None),
                (f"{current + 1:#x}", None, "newer"),
                (f"{latest - 1:#x}u", None, "newer"),
                ("-1", None, "newer"),
                (f"{name}_LAST_SUPPORTED_VERSION", 0, "#warning"),
                ("MRC_API_VER(0,0,1)", 1, None),
            ]
            for value, wanted, diagnostic in cases:
                text = f"#define {macro}_USED {value}\n" if value else ""
                text += f'#include "{header}"\n'
                if wanted is not None:
                    text += f'enum {{ chosen = 1 / ({macro}_USED == {wanted}u) }};\n'
                text += f"enum {{ limits = 1 / ({name}_LAST_SUPPORTED_VERSION == 0u && {macro}_LATEST == {latest}u) }};\n"
                for cxx in (False, True):
                    what = f"{macro}_USED={value} as {'C++' if cxx else 'C'}"
                    result = self.compile(text, cxx)
                    if (result.returncode == 0) != (wanted is not None):
                        self.fail(f"{what}: {'accepted' if wanted is None else 'refused, or another chosen'}\n{result.stderr}")
                    if (diagnostic or "") not in result.stderr or (diagnostic is None and result.stderr):
                        self.fail(f"{what}: diagnostics are\n{result.stderr}")

    def version_fields(self):
        """A version is taken apart by the offsets of its fields, also in #if."""
        for prefix in ("MRC_API_VER", "MRC_CTL_API_VER"):
            header = prefix.lower() + ".h"
            text = (f'#include "{header}"\n#define V {prefix}(1, 2, 3)\n'
                    f"#if V >> {prefix}_MAJOR_OFFSET != 1 || (V >> {prefix}_MINOR_OFFSET & 0xff) != 2"
                    f" || (V >> {prefix}_SUBMINOR_OFFSET & 0xffff) != 3\n#error fields\n#endif\ntypedef int something;\n")
            for cxx in (False, True):
                result = self.compile(text, cxx, ["-Werror", "-pedantic"])
                if result.returncode:
                    self.fail(f"offsets of {prefix}:\n{result.stderr}")

    def earlier_versions(self, abi):
        """What was added after the first version is hidden from includers of an earlier one, and nothing else changes."""
        if abi["macros"]["MRC_API_CURRENT_VERSION"] != abi["macros"]["MRC_CTL_API_CURRENT_VERSION"]:
            return self.fail("MRC_API_CURRENT_VERSION and MRC_CTL_API_CURRENT_VERSION differ: a context has one version for both")
        for header, fact, text in additions(abi):
            for version, visible in ((since(fact), True), (since(fact) - 1, False)):
                result = self.compile(f'#define {USED[header]} {version:#x}\n#include "{header}"\n{text}\n')
                if (result.returncode == 0) != visible:
                    self.fail(f"{USED[header]} {version:#x}: {text} is {'hidden' if visible else 'visible'}\n{result.stderr}")
        added = {since(fact) for _, fact, _ in additions(abi)}
        for version in sorted({number(FIRST)} | added | {v - 1 for v in added}):
            for line in self.mismatches(abi, version):
                self.fail(f"version {version:#x}: {line}")

        def size(a):
            named(a["structs"], "mrc_ctl_ev_event")["sizes"][FIRST] += 8

        def member(a):
            named(a["structs"], "mrc_context_attr")["members"][-1].append("1.0.1")

        for falsify in () if self.failures else (size, member):
            wrong = copy.deepcopy(abi)
            falsify(wrong)
            lines = self.mismatches(wrong, number(FIRST))
            if len(lines) != 1:
                self.fail(f"a falsified {falsify.__name__} of an earlier version gave {lines}")

    def mismatches(self, abi, version):
        flags = [f"-D{macro}={version:#x}" for macro in USED.values()]
        lines, error = self.facts(as_of(abi, version), flags)
        return [line for line in error.splitlines() if "error:" in line] if lines is None else lines

    def old_name(self):
        """Programs written for older headers use struct mrc_attr; mrc_compat.h supports them before and after mrc.h, and
        forced in, where it must not choose among the C library's interfaces."""
        use = "int f(struct ibv_context *c, struct mrc_attr *a) { return mrc_query_device(c, a, 0) + (int)a->cap; }\n"
        gnu = ("#define _GNU_SOURCE\n#include <string.h>\n#include <sched.h>\n"
               "int g(int n) { cpu_set_t s; CPU_ZERO(&s); return strchrnul(strerrordesc_np(n), 'x') != 0; }\n")
        forced = ["-include", str(pathlib.Path(self.args.include) / "mrc_compat.h")]
        for text, flags in (('#include "mrc_compat.h"\n#include "mrc.h"\n' + use, []), ('#include "mrc.h"\n#include "mrc_compat.h"\n' + use, []),
                            (gnu + '#include "mrc.h"\n' + use, forced), ('#include "mrc.h"\n' + use, forced)):
            for cxx in (False, True):
                result = self.compile(text, cxx, ["-Werror", *flags, *(["-U_GNU_SOURCE"] if cxx else [])])
                if result.returncode:
                    self.fail("struct mrc_attr:\n" + result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--abi", required=True, help="mrc_abi.json")
    parser.add_argument("--include", required=True, help="folder of the public headers")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    args = parser.parse_args()
    abi = json.loads(pathlib.Path(args.abi).read_text())
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(args, folder)
        checker.headers_match(abi)
        checker.headers_declare_nothing_else(abi)
        if not checker.failures:
            checker.notices_falsified_facts(abi)
            checker.version_rules(abi)  # what follows from a wrong fact would hide it
            checker.earlier_versions(abi)
        checker.headers_stand_alone()
        checker.version_fields()
        checker.old_name()
    print(f"{len(checker.failures)} failures")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
