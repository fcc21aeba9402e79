"""Names of libibverbs: the shim has all of them, and no object of ours reaches another library under any. [VRB-INT-3]"""
import os
import re

import built
import process
import session

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "names.txt")


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


def test_no_object_of_ours_reaches_libibverbs():
    program = session.run(["@PROGRAMS@/shim_foreign", LIST])
    assert program.code == 0 and "none reached libibverbs" in program.out, program


def test_libibverbs_survives_objects_of_ours():
    program = session.run(["@PROGRAMS@/shim_unknown_names", "@SHIM@"], preload=tuple(filter(None, [session.RUNTIME])))
    assert program.code == 0 and "refused" in program.out, program
    reports = re.findall("mrc-verbs: (.*): libibverbs was called with an object of libmrc-verbs.so", program.out)
    assert reports == ["ibv_alloc_pd"], program
