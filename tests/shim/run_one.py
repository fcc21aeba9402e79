"""Runs one row of programs.py, or one function of a test module.

usage: run_one.py SHIM COMPAT RUNTIME row NAME | run_one.py SHIM COMPAT RUNTIME MODULE FUNCTION
"""
import importlib
import sys

import programs
import rows
import session


def main():
    session.SHIM, session.COMPAT, session.RUNTIME, what, name = sys.argv[1:6]
    if session.RUNTIME == "-":
        session.RUNTIME = ""
    if what == "row":
        (row,) = [r for r in programs.ROWS + programs.MRC_ROWS if r.name == name]
        print(rows.judge(row))
    else:
        getattr(importlib.import_module(what), name)()
        print("ok")


if __name__ == "__main__":
    main()
