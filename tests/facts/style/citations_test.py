"""Citations of files, rules of programs and decisions: what is cited exists.

usage: citations_test.py SOURCE_DIR
Looked at: paths that begin with a folder of the tree, bare names of Markdown files, links of Markdown pages, rules of
spec/clients.md and decisions of spec/architecture.md by number. NAME in a path stands for any name.
"""
import os
import re
import sys

from style_test import conclude, files

FOLDERS = r"\.ci|\.github|cmake|libmrc|nccl-plugin|sim|spec|tests|tools|verbs-shim"
PATH = re.compile(rf"(?<![\w./$}}-])((?:{FOLDERS})/[\w./-]*\.(?:cc|cmake|csv|h|json|lua|map|md|py|sh|svg|txt|yaml))(?![\w*])")
PAGE = re.compile(r"(?<![\w./*-])([\w-]+\.md)\b")
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
NUMBERED = {"spec/clients.md": re.compile(r"(?<![\w/])(?:spec/)?clients\.md,? rules? ((?:\d+(?:, | and )?)+)"),
            "spec/architecture.md": re.compile(r"(?<![\w/])(?:spec/)?architecture\.md,? decisions? ((?:\d+(?:, | and )?)+)")}
ITEM = re.compile(r"^(\d+)\. \*\*")
READ = (".c", ".cc", ".cmake", ".h", ".lua", ".map", ".md", ".py", ".sh", ".txt", ".yaml", ".1", ".3", ".5", ".7", ".8")


def complaints(tree, names):
    """`tree`: path -> lines of the files to read; `names`: all files."""
    folders = {part for name in names for part in folders_of(name)}
    pages = {os.path.basename(name) for name in names}
    items = {page: {m[1] for m in map(ITEM.match, tree.get(page, ())) if m} for page in NUMBERED}
    for path, lines in sorted(tree.items()):
        for number, line in enumerate(lines, 1):
            for target in PATH.findall(line):
                # An included header may be named from the folder of its sources.
                if target not in names and "NAME" not in target and "libmrc/src/" + target not in names:
                    yield f"{path}:{number}: there is no {target}"
            for page in PAGE.findall(line):
                if page not in pages and "NAME" not in page:
                    yield f"{path}:{number}: there is no {page}"
            if path.endswith(".md"):
                for link in LINK.findall(line):
                    target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                    if target not in names and target not in folders:
                        yield f"{path}:{number}: the link to {link} leads nowhere"
            for page, pattern in NUMBERED.items():
                for found in pattern.findall(line):
                    for n in re.findall(r"\d+", found):
                        if n not in items[page]:
                            yield f"{path}:{number}: {page} has no number {n}"


def folders_of(name):
    while name := os.path.dirname(name):
        yield name


def self_test():
    names = {"spec/clients.md", "spec/architecture.md", "libmrc/src/core/a.h", "README.md"}
    good = {"spec/clients.md": ["1. **A.** b", "12. **C**"], "spec/architecture.md": ["3. **D**", "[c](clients.md) [f](../libmrc/src)"],
            "libmrc/src/core/a.h": ["// [spec/clients.md rule 1] clients.md rules 1, 12 and 1. spec/architecture.md, decision 3, tests/NAME.cc",
                                    "// build/dev/tests/x.json $DIR/tools/x.py spec/*.md https://x/spec/y.md"],
            "README.md": ["see README.md, [l](libmrc/src/core/a.h)"]}
    assert not list(complaints(good, names)), list(complaints(good, names))
    for line in ("clients.md rule 2", "spec/clients.md rules 1 and 3", "spec/architecture.md, decisions 3, 4", "[spec/gone.md]",
                 "design.md", "tests/gone_test.cc", "[x](gone.txt)"):
        assert len(list(complaints({**good, "README.md": [line]}, names))) in (1, 2), line


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    names = set(files(root))
    tree = {}
    for path in names:
        if path.endswith(READ) and not path.startswith("tests/facts/style/") and "/corpus/" not in path:
            with open(os.path.join(root, path), encoding="utf-8") as source:
                tree[path] = source.read().split("\n")
    found = list(complaints(tree, names))
    return conclude(found, len(tree), "files")


if __name__ == "__main__":
    sys.exit(main())
