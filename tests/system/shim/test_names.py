"""Names of libibverbs: no object of ours reaches another library under any; facts/shim compares the list. [VRB-INT-3]"""
import os
import re

import session

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.txt")


def test_no_object_of_ours_reaches_libibverbs():
    program = session.run(["@PROGRAMS@/shim_foreign", LIST])
    assert program.code == 0 and "none reached libibverbs" in program.out, program


def test_libibverbs_survives_objects_of_ours():
    program = session.run(["@PROGRAMS@/shim_unknown_names", "@SHIM@"], preload=tuple(filter(None, [session.RUNTIME])))
    assert program.code == 0 and "refused" in program.out, program
    reports = re.findall("mrc-verbs: (.*): libibverbs was called with an object of libmrc-verbs.so", program.out)
    assert reports == ["ibv_alloc_pd"], program
