"""Names of programs in the declarations of tests: a misspelt one would skip its tests or leave them out, in every configuration."""
import collections
import os
import re

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
ASKED = re.compile(r'\bbuilt\.path\("(\w+)"\)|"(\w+)" in built\.PATHS')
GIVEN = r"\b{}=([\w.-]+)"
CONDITION = re.compile(r"\bTARGET ([\w.-]+)(?=[\s)])")
TARGET = re.compile(r"\badd_(?:executable|library|custom_target)\(\s*([\w${}.-]+)")
LAYER = re.compile(r"\bmrc_layer\(\s*(\w+)")  # declares the target mrc_LAYER
VARIABLE = re.compile(r"\$\{\w+\}")


def texts(root):
    """path -> text of the declarations and of the Python below tests."""
    for where, folders, names in os.walk(root):
        folders[:] = [folder for folder in folders if not folder.startswith((".git", "build", "out"))]
        for name in names:
            path = os.path.relpath(os.path.join(where, name), root)
            if name == "CMakeLists.txt" or name.endswith(".cmake") or path.startswith("tests" + os.sep) and name.endswith(".py"):
                with open(os.path.join(root, path), encoding="utf-8") as text:
                    yield path, text.read()


def targets(cmake):
    """A pattern of every target's name; a name that begins with a variable is none of those asked for."""
    names = {name for text in cmake.values() for name in TARGET.findall(text) if not name.startswith(("$", "mrc_${name}"))}
    names |= {"mrc_" + layer for text in cmake.values() for layer in LAYER.findall(text)}
    return re.compile("|".join(r"[\w-]+".join(map(re.escape, VARIABLE.split(name))) for name in names))


def complaints(tree):
    cmake = {path: re.sub(r"(?m)(^|\s)#.*", "", text) for path, text in tree.items() if not path.endswith(".py")}
    known = targets(cmake)
    given = collections.defaultdict(str)  # of a suite, whose folders in two tiers share modules
    for path, text in cmake.items():
        given[os.path.basename(os.path.dirname(path))] += text
        for name in CONDITION.findall(text):
            if not known.fullmatch(name):
                yield f"{path}: nothing declares the target {name}"
    for path, text in tree.items():
        for name in {first or second for first, second in ASKED.findall(text)} if path.endswith(".py") else ():
            found = re.findall(GIVEN.format(name), given[os.path.basename(os.path.dirname(path))])
            if not found:
                yield f"{path}: no CMakeLists.txt of this suite names the program {name}"
            for target in found:
                if not known.fullmatch(target):
                    yield f"{path}: nothing declares the target {target} of {name}"


def test_every_name_is_declared():
    tree = dict(texts(ROOT))
    assert len(tree) > 100, len(tree)
    found = [text for text in complaints(tree) if not text.startswith("tests/facts/harness/")]
    assert not found, "\n".join(found)


def test_each_misspelling_is_found():
    suite, module, product = "part/CMakeLists.txt", "part/test_part.py", "product/CMakeLists.txt"
    good = {suite: "if(TARGET mrc-part)\nmrc_python_tests(part PROGRAMS PART=mrc-part OTHER=lib_other)", product: "add_executable(mrc-part a.cc)",
            module: 'built.path("PART"); "OTHER" in built.PATHS', "libmrc/CMakeLists.txt": "add_library(${name} a.cc)\nadd_library(lib_${name} a.cc)"}
    assert not list(complaints(good)), list(complaints(good))
    for path, old, new in ((suite, "TARGET mrc-part", "TARGET mrc-prat"), (suite, "PART=mrc-part", "PART=mrc-prat"),
                           (suite, "PART=", "PRAT="), (module, '"PART"', '"PRAT"'), (module, '"OTHER"', '"OHTER"'),
                           (suite, "PROGRAMS PART=mrc-part", "# PART=mrc-part\n")):
        assert good[path] != good[path].replace(old, new)
        assert len(list(complaints({**good, path: good[path].replace(old, new)}))) == 1, (old, new)
    assert len(list(complaints({**good, product: ""}))) == 2
