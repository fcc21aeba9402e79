"""Plain technical English in comments, specifications and manual pages: the few patterns that a script finds reliably.

usage: prose_test.py SOURCE_DIR
CONTRIBUTING, "Style", has the rule. Texts of messages are not read here: their wording is part of the tests of each program.
"""
import os
import re
import sys

import style_test

RULES = (
    (re.compile(r"(?:^|[.;:(]\s)Who(?:ever)?\s+[a-z]+(?![^.]*\?)"), "a clause 'who ...' as subject: name the user, process or component"),
    (re.compile(r"(?<![`'\"])\b(?:somebody|nobody|anybody|everybody|whoever)\b(?![`'\"])", re.I), "name the user, process or component, or use the passive"),
    (re.compile(r"\b(?:strangers?|visitors?)\b", re.I), "use the role: client, attacker, unknown source, other process"),
    (re.compile(r"\b(?:timers?|packets?|sockets?|SACKs?|ACKs?|switch(?:es)?|headers?|drivers?|peers?|messages?|kernel|devices?|processes|process|files?|"
                r"daemon|receivers?|senders?|hosts?) (?:says?|speaks?|hears?|wants?|tells?)\b"),
     "a component sends, reports, receives or requires; it does not speak"),
)
C_LIKE = (".h", ".cc", ".c", ".in", ".map")
WHOLE = (".md", ".1", ".5", ".7", ".8")
SCRIPTS = (".py", ".sh", ".cmake", ".yaml", ".yml", ".bash", ".sbatch", "CMakeLists.txt")


def prose_of(path, lines):
    """(line, text) of what people read: comments, or every line of a document."""
    if path.endswith(WHOLE):
        yield from enumerate(lines, 1)
    elif path.endswith(SCRIPTS) or "." not in os.path.basename(path):
        for number, line in enumerate(lines, 1):
            found = re.search(r"(?:^|\s)#(?!!)\s?(.*)", line) or re.match(r'\s*"""(.*)', line)
            if found:
                yield number, found.group(1)
    elif path.endswith(C_LIKE):
        inside = False
        for number, line in enumerate(lines, 1):
            found = re.search(r"(?<![:\"])//\s?(.*)", line)
            if inside or line.lstrip().startswith("/*"):
                yield number, re.sub(r"^\s*(?:/\*|\*)?\s?", "", line)
                inside = "*/" not in line
            elif found:
                yield number, found.group(1)
            elif "/*" in line:
                yield number, line[line.index("/*") + 2:]
                inside = "*/" not in line[line.index("/*"):]


def complaints(path, lines):
    for number, text in prose_of(path, lines):
        for pattern, why in RULES:
            match = pattern.search(text)
            if match:
                yield number, f"'{match.group(0).strip()}': {why}"


def self_test():
    """Each rule must be able to fail, and must not see what is no prose."""
    bad = {
        "a.cc": ["// Who sends first waits.", "int x;  // nobody reads it", "/* The peer", " * says so. */", "f(); // for a visitor"],
        "b.md": ["It ends. Whoever comes next is dropped."],
        "c.py": ["x = 1  # the kernel tells of it"],
        "tools/d": ["# A stranger's packet."],
    }
    expected = {"a.cc": 3, "b.md": 2, "c.py": 1, "tools/d": 1}
    good = {
        "a.cc": ["// The sender, who waits, is named.", "// Is it the one who sends?", 'say("nobody");', "// user `nobody`"],
        "c.py": ['print("the kernel says no")'],
    }
    for path, lines in bad.items():
        found = list(complaints(path, lines))
        assert len(found) == expected[path], (path, found)
    for path, lines in good.items():
        found = list(complaints(path, lines))
        assert not found, (path, found)


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    count = looked = 0
    for path in sorted(style_test.files(root)):
        if path.startswith(("spec/vectors/", "tests/facts/style/")) or "/corpus/" in path:
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as source:
                lines = source.read().split("\n")
        except UnicodeDecodeError:
            continue
        looked += 1
        for number, text in complaints(path, lines):
            print(f"{path}:{number}: {text}")
            count += 1
    print(f"{looked} files looked at, {count} complaints")
    return 1 if count or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
