"""The tables of the specification and of the dissector against those of the library, which mrc-wire-tables writes. A function gets
the source folder."""
import os

import built
import files
import process

FILES = (os.path.join("spec", "wire.md"), os.path.join("tools", "dissector", "mrc.lua"))


def run(*arguments):
    done = process.run([built.path("WIRE_TABLES"), *arguments], code=None)
    return done.returncode, done.stderr


def read(file):
    with open(file, encoding="utf-8") as source:
        return source.read()


def tables_are_those_of_the_library(path):
    status, said = run("--check", *(os.path.join(path, name) for name in FILES))
    assert status == 0, said


def changed_tables_are_found_and_written(path):
    """A bit moved in any table is found; without --check the table is what it was."""
    for name, old, new in ((FILES[0], "| 8 | 4 | ts |", "| 8 | 3 | ts |"), (FILES[0], "| 0xDC | SACK |", "| 0xDF | SACK |"),
                           (FILES[1], '"ts", "TSETH follows METH", 0x10', '"ts", "TSETH follows METH", 0x08'),
                           (FILES[1], '[0xDC] = { name = "SACK"', '[0xDF] = { name = "SACK"'), (FILES[1], '[0x19] = "', '[0x18] = "')):
        right = read(os.path.join(path, name))
        assert right.count(old) == 1, (name, old)
        copy = files.write(os.path.basename(name), right.replace(old, new))
        status, said = run("--check", copy)
        assert status == 1 and copy in said and "differs" in said, (status, said)
        assert run(copy) == (0, "") and read(copy) == right, name


def files_without_tables_are_refused(path):
    for text, reason in (("", "holds no section"), ("[wire-tables nothing]\n[end of nothing]\n", "no section"),
                         ("[wire-tables headers]\n", "[end of headers]")):
        status, said = run("--check", files.write("file", text))
        assert status == 1 and reason in said, (text, status, said)
    status, said = run("--check", os.path.join(path, "no such file"))
    assert status == 1 and "cannot be read" in said, said
