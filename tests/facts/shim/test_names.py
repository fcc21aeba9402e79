"""Names of libibverbs: the shim has all of them, with their versions. [VRB-INT-3]"""
import os
import re

import built
import process

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../system/shim/names.txt")


def listed():
    with open(LIST, encoding="utf-8") as lines:
        rows = [line.split() for line in lines if line.startswith("IBVERBS_")]
    names = {name: version for version, name, _ in rows}
    assert len(names) == len(rows) > 90
    return names


def exported(library):
    """Name and default version of each function."""
    out = process.run(["nm", "-D", "--with-symbol-versions", library]).stdout
    return dict(re.findall(r" T (\S+)@@(IBVERBS_\S+)$", out, re.MULTILINE))


def test_the_shim_exports_what_is_listed():
    assert exported(built.path("SHIM")) == listed()


def test_the_list_has_the_installed_libibverbs():
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        library = os.path.join(folder, "libibverbs.so.1")
        if os.path.exists(library):
            break
    names = listed()
    installed = {n: v for n, v in exported(library).items() if not v.startswith("IBVERBS_PRIVATE")}
    assert len(installed) > 70, installed
    assert {n: names.get(n) for n in installed} == installed
