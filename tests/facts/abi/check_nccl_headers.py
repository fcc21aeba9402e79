#!/usr/bin/env python3
"""Compares nccl-plugin/include/net_abi.h with spec/abi/nccl_net_abi.json, by the compiler's own account.

A C program is generated that knows every fact (sizes, offsets, member types, enumerators, macros, typedefs), compiled
against the header and run; each mismatch is one line. What the headers declare beyond the facts, and a version that has
no header, adapter or exported symbol, are mismatches too. The header must also stand alone as C11 and C++20, and the
comparison must notice facts that were falsified.
"""
import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Types that belong to another plugin interface of NCCL and that a net plugin never sees.
FOREIGN = re.compile(r"ncclGin")


def same_type(a, b):
    return f"__builtin_types_compatible_p({a}, {b})"


def program(abi):
    out = ["#include <stdio.h>", '#include "net_abi.h"', "static int bad;",
           "static void fact(const char *what, long long is, long long want) {",
           '  if (is != want) { printf("%s: is %lld, should be %lld\\n", what, is, want); bad = 1; }', "}",
           "int main(void) {"]
    for name, value in abi["macros"].items():
        out.append(f'  fact("{name}", (long long){name}, {value}LL);')
    for enum in abi["enums"]:
        for name, value in enum["values"]:
            out.append(f'  fact("{name}", (long long)(int){name}, {value}LL);')
        if enum["name"]:
            out.append(f'  fact("sizeof({enum["name"]})", sizeof({enum["name"]}), 4);')
    for typedef in abi["typedefs"]:
        if not FOREIGN.match(typedef["name"]):
            out.append(f'  fact("typedef {typedef["name"]}", {same_type(typedef["name"], typedef["is"])}, 1);')
    for struct in abi["structs"]:
        kind = struct["name"]
        out.append(f'  fact("sizeof({kind})", sizeof({kind}), {struct["size"]});')
        for member, mtype, offset in struct["members"]:
            what = f"{kind}.{member}"
            out.append(f'  fact("offset of {what}", offsetof({kind}, {member}), {offset});')
            is_type = same_type(f"__typeof__((({kind} *)0)->{member})", mtype)
            out.append(f'  fact("type {mtype} of {what}", {is_type}, 1);')
    return "\n".join(out + ["  return bad;", "}"]) + "\n"


# The layout is that of clang-format: one member, or one function pointer over several lines, to a declaration.
STRUCT = re.compile(r"typedef struct \w*\s*\{([^}]*)\}\s*(\w+);")
ENUM = re.compile(r"typedef enum \w*\s*\{([^}]*)\}\s*(\w*);|\benum\s*\{([^}]*)\};")
ALIAS = re.compile(r"typedef (\w+) (\w+);|typedef [^;{]*\(\*(\w+)\)\(")
MEMBER = re.compile(r"\(\*(\w+)\)|(\w+)(?:\[[^\]]*\])?$")


def text_of(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


def declared(text):
    """Names that a header declares: structures with their members in order, enumerators and other types."""
    structs = {}
    for body, name in STRUCT.findall(text):
        members = [MEMBER.search(" ".join(d.split())) for d in body.split(";") if d.strip()]
        structs[name] = [m[1] or m[2] for m in members]
    values = [re.match(r"\s*(\w+)", v)[1] for found in ENUM.findall(text) for v in (found[0] or found[2]).split(",") if v.strip()]
    types = [a or b for _, a, b in ALIAS.findall(text)]
    return structs, values, types


def beyond(abi, include):
    """What the headers have and the facts lack."""
    known = {s["name"]: [m[0] for m in s["members"]] for s in abi["structs"]}
    values = {v[0] for e in abi["enums"] for v in e["values"]}
    types = {t["name"] for t in abi["typedefs"]} | {e["name"] for e in abi["enums"]}
    for path in [include / "net_abi.h", *sorted((include / "net_abi").glob("*.h"))]:
        structs, found_values, found_types = declared(text_of(path))
        for name, members in structs.items():
            if members != known.get(name):
                yield f"{path.name}: members of {name} are {members}, in the facts {known.get(name)}"
        for kind, found, expected in (("enumerator", found_values, values), ("type", found_types, types)):
            for name in found:
                if name not in expected:
                    yield f"{path.name}: {kind} {name} is not in the facts"


def versions(abi, include):
    """A version has a place in the list, a header, an adapter and a symbol, or none of them."""
    listed = [f"v{n}" for n in re.findall(r"X\((\d+)\)", re.search(r"define MRC_NET_VERSIONS\(X\)(.*)", text_of(include / "net_abi.h"))[1])]
    adapters = include.parent / "adapters"
    exported = {path.stem for path in adapters.glob("v*.cc") if f"ncclNetPlugin_{path.stem} =" in path.read_text()}
    places = {"spec/abi/nccl_net_abi.json, exported_symbols": {n.removeprefix("ncclNetPlugin_") for n in abi["exported_symbols"]},
              "an adapter in nccl-plugin/adapters": exported,
              "an #include in net_abi.h": set(re.findall(r'"net_abi/(v\d+)\.h"', (include / "net_abi.h").read_text())),
              "a header in net_abi/": {path.stem for path in (include / "net_abi").glob("v*.h")}}
    for place, found in places.items():
        for name in sorted(set(listed) ^ found):
            yield f"{name} is in one only of MRC_NET_VERSIONS and {place}"


class Checker:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)

    def compile(self, text, cxx=False, binary=None):
        source = self.folder / ("unit.cc" if cxx else "unit.c")
        source.write_text(text)
        command = [self.args.cxx if cxx else self.args.cc, "-std=c++20" if cxx else "-std=c11", "-Wall", "-Wextra", "-Werror",
                   "-pedantic", "-I", self.args.include, *(["-o", str(binary)] if binary else ["-fsyntax-only"]), str(source)]
        return subprocess.run(command, capture_output=True, text=True)

    def facts(self, abi):
        binary = self.folder / "facts"
        built = self.compile(program(abi), binary=binary)
        if built.returncode:
            return ["the facts do not compile against the header:\n" + built.stderr]
        return subprocess.run([str(binary)], capture_output=True, text=True).stdout.splitlines()

    def falsified(self, abi):
        """Every kind of fact, made wrong once, must be noticed as exactly one mismatch."""
        def struct(a, name): return next(s for s in a["structs"] if s["name"] == name)
        def size(a): struct(a, "ncclNetVDeviceProps_v12_t")["size"] += 4
        def offset(a): struct(a, "ncclNetProperties_v12_t")["members"][6][2] += 1
        def member(a): struct(a, "ncclNetProperties_v12_t")["members"][2][1] = "int64_t"
        def function(a): struct(a, "ncclNet_v6_t")["members"][5][1] = "ncclResult_t (*)(int, void *, void *)"
        def value(a): a["enums"][0]["values"][6][1] += 1
        def macro(a): a["macros"]["NCCL_NET_MAX_REQUESTS"] += 1
        for falsify in (size, offset, member, function, value, macro):
            wrong = copy.deepcopy(abi)
            falsify(wrong)
            lines = self.facts(wrong)
            if len(lines) != 1:
                yield f"a falsified {falsify.__name__} gave {lines}"

    def stands_alone(self):
        for cxx in (False, True):
            result = self.compile('#include "net_abi.h"\n#include "net_abi.h"\ntypedef int something;\n', cxx)
            if result.returncode:
                yield f"net_abi.h alone as {'C++' if cxx else 'C'}:\n{result.stderr}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("abi", "include", "cc", "cxx"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    abi = json.loads(pathlib.Path(args.abi).read_text())
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(args, folder)
        include = pathlib.Path(args.include)
        failures = [*checker.facts(abi), *beyond(abi, include), *versions(abi, include), *checker.stands_alone()]
        failures = failures or [*checker.falsified(abi)]
    for failure in failures:
        print("FAIL " + failure)
    print(f"{len(abi['structs'])} structures, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
