"""Rules of spec/ and their citations: every rule is cited by the code that follows it and by a test that checks it.

usage: rules_test.py SOURCE_DIR
A rule is defined in spec/*.md as the first cell of a table row, in bold at the head of a line or of an item (in brackets), or
at the head of a paragraph. A citation is the id itself, or a range such as MRC-SACK-1..9; MRC-SACK-* names a family in a header comment
and counts for nothing. Complaints: citations of rules that do not exist, ids that are defined twice, rules that no code
or no test cites, and exceptions below that are not needed any more.
"""
import collections
import os
import re
import sys

from style_test import conclude, files

DEFINED = re.compile(r"^(?:\| (?P<row>(?:MRC|API|VRB)-[A-Z0-9-]+) \||- \*\*\[(?P<item>(?:MRC|API|VRB)-[A-Z]+-\d+)\]\*\*|"
                     r"\*\*(?P<bold>MRC-[A-Z]+-\d+)\*\*|(?P<head>MRC-[A-Z]+-\d+)\. )")
CITED = re.compile(r"\b((?:MRC|API|VRB)-(?:[A-Z]+-)+)(Q?)(\d+)(?:\.\.(?:(?:MRC|API|VRB)-(?:[A-Z]+-)+)?Q?(\d+))?")
SOURCES = (".h", ".cc", ".c", ".py", ".sh", ".cmake", ".map", ".txt", ".in")

# Rules without code of their own, and rules that no test can check, each with the reason.
NO_CODE = {"MRC-NSCC-30": "the format of recordings is read by a developer's tool, tests/fast/nscc-replay"}
NO_TEST = {}


def defined(path, lines):
    for number, line in enumerate(lines, 1):
        match = DEFINED.match(line)
        if match:
            yield number, next(g for g in match.groups() if g)


def cited(lines):
    for number, line in enumerate(lines, 1):
        for match in CITED.finditer(line):
            family, letter, first, last = match.groups()
            for n in range(int(first), int(last or first) + 1):
                yield number, f"{family}{letter}{n}"


def role(path):
    if path.startswith("tests/"):
        return None if path.startswith(("tests/facts/style/", "tests/fuzz/corpus/")) else "test"
    return "code" if path.startswith(("libmrc/", "sim/", "tools/", "verbs-shim/")) or path == "CMakeLists.txt" else None


def complaints(tree):
    """`tree`: path -> lines."""
    rules = {}
    uses = {"code": collections.Counter(), "test": collections.Counter()}
    found = []
    for path, lines in sorted(tree.items()):
        if re.fullmatch(r"spec/[^/]+\.md", path):
            for number, rule in defined(path, lines):
                if rule in rules:
                    found.append(f"{path}:{number}: {rule} is defined in {rules[rule]} as well")
                rules[rule] = f"{path}:{number}"
    for path, lines in sorted(tree.items()):
        if path.startswith("spec/") and path.endswith(".md") or role(path) and path.endswith(SOURCES):
            for number, rule in cited(lines):
                if rule not in rules:
                    found.append(f"{path}:{number}: {rule} is no rule of spec/*.md, which define one as '| ID |' or '- **[ID]**' at the head of a line")
                elif role(path):
                    uses[role(path)][rule] += 1
    for kind, excused in (("code", NO_CODE), ("test", NO_TEST)):
        for rule, place in rules.items():
            if not uses[kind][rule] and rule not in excused:
                found.append(f"{place}: {rule} is cited by no {kind}")
        found += [f"tests/facts/style/rules_test.py: {rule} needs no exception for {kind}"
                  for rule in excused if uses[kind][rule] or rule not in rules]
    return len(rules), found


def self_test():
    spec = {"spec/a.md": ["| MRC-A-1 | x |", "**MRC-A-2** y", "| MRC-A-CHOICE-Q3 | q | z |", "- **[API-B-1]** w"]}
    code = {"libmrc/a.cc": ["// [MRC-A-1..2] [MRC-A-CHOICE-Q3]", "// API-B-1"]}
    test = {"tests/a.cc": ["// [MRC-A-1] [MRC-A-2], MRC-A-CHOICE-Q3 [API-B-1]"]}
    global NO_CODE, NO_TEST
    kept, NO_CODE, NO_TEST = (NO_CODE, NO_TEST), {}, {}
    try:
        assert complaints({**spec, **code, **test}) == (4, []), complaints({**spec, **code, **test})
        assert len(complaints({**spec, **code})[1]) == 4
        assert len(complaints({**spec, **test})[1]) == 4
        assert len(complaints({**spec, **code, "tests/a.cc": ["// MRC-A-* and API-B-1"]})[1]) == 3
        assert len(complaints({**spec, **code, **test, "libmrc/b.cc": ["// MRC-A-1..4"]})[1]) == 2
        assert len(complaints({**spec, **code, **test, "spec/b.md": ["| MRC-A-1 | again |"]})[1]) == 1
        NO_TEST = {"MRC-A-1": "cited, so no exception is needed"}
        assert len(complaints({**spec, **code, **test})[1]) == 1
    finally:
        NO_CODE, NO_TEST = kept


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    tree = {}
    for path in files(root):
        if path.endswith(SOURCES + (".md",)):
            with open(os.path.join(root, path), encoding="utf-8") as source:
                tree[path] = source.read().split("\n")
    count, found = complaints(tree)
    return conclude(found, count, "rules")


if __name__ == "__main__":
    sys.exit(main())
