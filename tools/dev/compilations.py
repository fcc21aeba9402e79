"""The compilations of a configured build, in terms that clang understands: for the scripts of this folder that parse the tree."""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sources_of(path):
    """The sources of a unity file, else the source itself; relative to the root."""
    found = [path]
    if "/Unity/" in path:
        with open(path, encoding="utf-8") as unity:
            found = re.findall(r'^#include "([^"]+)"', unity.read(), re.M)
    return [os.path.relpath(f, ROOT) for f in found]


def flags_of(command):
    """Folders, definitions and the standard; no warnings, no precompiled headers, no output."""
    words = shlex.split(command)
    flags = []
    for word, after in zip(words, words[1:] + [""]):
        if word.startswith(("-I", "-D", "-std=")):
            flags.append(word)
        elif word == "-isystem":
            flags += [word, after]
    return flags


def compilations(build, wanted, apart=False):
    """(sources, flags, file) of each C++ compilation with a source for which wanted(name); once each, as some sources are in
    two libraries. apart: the wanted sources of a unity file one by one."""
    seen = set()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        entries = json.load(commands)
    for entry in entries:
        if not entry["file"].endswith((".cc", ".cxx")):
            continue
        names = sources_of(entry["file"])
        if tuple(names) in seen or not any(wanted(n) for n in names):
            continue
        seen.add(tuple(names))
        flags = flags_of(entry["command"])
        if not apart:
            yield names, flags, entry["file"]
            continue
        for name in names:
            if wanted(name) and name not in seen:
                seen.add(name)
                yield [name], flags, os.path.join(ROOT, name)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.returncode, done.stdout, done.stderr


def run_all(commands):
    """Results in the order of the commands, as many at a time as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run, commands)
