#!/usr/bin/env python3
"""Compares what libmrc.so.1 exports with the list kept in git, with the ABI facts and with the frozen symbol map.

A name that appears or vanishes is a change of the ABI: it must be made in the list, in the map and here on purpose. [API-LIB-1]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in text.splitlines() if line.split()]
    return sorted(n for n in names if not re.fullmatch(r"MRC_\d+\.\d+(@@MRC_\d+\.\d+)?", n))


def soname(library):
    text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    found = re.search(r"SONAME.*\[(.*)\]", text)
    return found.group(1) if found else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--list", required=True, help="exported_symbols.txt")
    parser.add_argument("--abi", required=True, help="mrc_abi.json")
    parser.add_argument("--soft", required=True, help="mrc_soft.h")
    args = parser.parse_args()
    failures = []
    listed = pathlib.Path(args.list).read_text().split()
    if listed != sorted(listed):
        failures.append("the list is not sorted")
    got = exported(args.library)
    for name in sorted(set(got) - set(listed)):
        failures.append(f"exported, but not in the list: {name}")
    for name in sorted(set(listed) - set(got)):
        failures.append(f"in the list, but not exported: {name}")
    bare = {name.split("@@")[0] for name in got}
    soft = re.sub(r"/\*.*?\*/", "", pathlib.Path(args.soft).read_text(), flags=re.S)
    wanted = {f["name"] for f in json.loads(pathlib.Path(args.abi).read_text())["functions"]}
    wanted |= set(re.findall(r"\b(mrc_soft_\w+)\(", soft))
    for name in sorted(wanted - bare):
        failures.append(f"declared, but not exported: {name}")
    for name in sorted(bare - wanted):
        failures.append(f"exported, but not declared: {name}")
    if soname(args.library) != "libmrc.so.1":
        failures.append(f"SONAME is '{soname(args.library)}'")
    for failure in failures:
        print("FAIL " + failure)
    print(f"{len(got)} symbols, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
