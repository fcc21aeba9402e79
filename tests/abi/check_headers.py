#!/usr/bin/env python3
"""Compares the public headers with spec/abi/mrc_abi.json, by the compiler's own account of them.

A C program is generated that knows every fact of the file (sizes, offsets, member types, enumerators, macros, function
signatures), compiled against the headers and run; each mismatch is one line. Further checks: every header compiles alone
as C11 and as C++20, the version macros refuse, warn and hide as documented [API-VER-1] [API-VER-2], and the comparison itself notices a fact
that was falsified.
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
        for member, mtype, offset, size in struct["members"]:
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

    def facts(self, abi):
        """Lines of mismatch; None when the program does not even compile."""
        binary = self.folder / "facts"
        # Functions are only compared by type, so nothing needs to be linked.
        built = self.compile(program(abi), flags=["-O1"], program=binary)
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
            a["structs"][5]["members"][6][2] += 1

        def size(a):
            a["structs"][0]["size"] += 4

        def kind(a):
            a["structs"][0]["members"][0][1] = "int32_t"

        def value(a):
            a["enums"][3]["values"][2][1] += 1

        def macro(a):
            a["macros"]["MRC_API_CURRENT_VERSION"] += 1

        def signature(a):
            a["functions"][1]["params"][0] = "struct mrc_context *"

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

    def hidden_members(self):
        hidden = [  # with 1.0.0 the text compiles, or not
            ("mrc.h", "MRC_API_VER_USED", "int (*f)(struct ibv_context *, struct mrc_context *, struct mrc_device_attr *,"
             " int *) = mrc_query_device_ex;"),
            ("mrc_ctl.h", "MRC_CTL_API_VER_USED", "int (*f)(struct ibv_context *, struct mrc_context *,"
             " struct mrc_ctl_device_attr *, int *) = mrc_ctl_query_device_ex;"),
            ("mrc_ctl.h", "MRC_CTL_API_VER_USED", "int n = sizeof(((struct mrc_ctl_ev_event *)0)->state);"),
        ]
        for header, macro, text in hidden:
            for minor, visible in ((1, True), (0, False)):
                result = self.compile(f'#define {macro} 0x0100000{minor}\n#include "{header}"\n{text}\n')
                if (result.returncode == 0) != visible:
                    self.fail(f"{macro} 1.0.{minor}: {text} is {'hidden' if visible else 'visible'}")
        for version, size in (("MRC_CTL_API_VER_LATEST", 56), ("0x01000001", 56), ("0x01000000", 48)):
            for cxx in (False, True):
                text = (f'#define MRC_CTL_API_VER_USED {version}\n#include "mrc_ctl.h"\n'
                        f"enum {{ size = 1 / (sizeof(struct mrc_ctl_ev_event) == {size}) }};\n")
                result = self.compile(text, cxx, ["-Werror"])
                if result.returncode:
                    self.fail(f"struct mrc_ctl_ev_event of {version} is not {size} bytes\n{result.stderr}")

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
        checker.notices_falsified_facts(abi)
        checker.headers_declare_nothing_else(abi)
        checker.headers_stand_alone()
        checker.version_rules(abi)
        checker.version_fields()
        checker.hidden_members()
        checker.old_name()
    print(f"{len(checker.failures)} failures")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
