"""Names are terms of the field, and tests state an outcome: the few pictures that a script finds reliably.

usage: names_test.py SOURCE_DIR
CONTRIBUTING, "Style", has the rules. Only what a source declares or uses is looked at, of Python only what it defines: comments
and texts are those of prose_test.py. A name is read as words, so that `control_packets_have_no_body` names no `nobody`.
"""
import functools
import os
import re
import sys

import python_source
import style_test

TEST_CPP = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*\w+\s*,\s*(\w+)\s*\)")
PEOPLE = {"nobody", "somebody", "anybody", "everybody", "someone", "anyone", "everyone", "whoever", "stranger", "strangers"}
HEADLESS = {"what", "whatever", "who", "whom", "those"}  # as the subject: a clause without the noun that it is about
PICTURES = {"heard": "received, learnt or reported", "patience": "timeout", "untold": "unreported", "stranger": "foreign or unknown",
            "strangers": "foreign or unknown", "visitor": "client", "visitors": "clients", "nap": "park or sleep", "naps": "parks or sleeps",
            "look_after": "maintain, replace or close", "word_up": "bit of a report", "on_word": "on_message", "namesakes": "duplicates",
            "welcome": "reply or setup", "wakes_him": "wakes_peer", "wake_him": "wake_peer", "comes_back": "restored or returned"}
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")


def words_of(name):
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def about_test(name):
    """Why this is no name for a test, or None. `function__case` names the function before the case."""
    case = name.split("__")[-1]
    words = words_of(case)
    if case[:1].isupper():
        return "write a sentence in snake_case"
    if words and words[0] in HEADLESS:
        return "name the user, process, packet or component that the test is about"
    if any(first in ("those", "all") and second in ("who", "whom") for first, second in zip(words, words[1:])):
        return "name the users, processes or components"
    if PEOPLE.intersection(words):
        return "write 'unknown peer', 'no client', 'other process'"
    return None


def about_gtest(name):
    """As about_test. Of Python's tests the module is a part of the name: `faults.loss`."""
    return "write a sentence that states the outcome" if len(words_of(name)) < 2 else about_test(name)


@functools.cache
def about_identifier(name):
    if re.match(r"k(?:Most|Least)(?![a-z])", name):
        return "a limit is kMaxX or kMinX"
    if re.match(r"asks?_", name):
        return "write query_, request_, solicit_ or probe_"
    if name == "told_":
        return "write reported_ or notified_"
    words = "_".join(words_of(name))
    return next((f"write {term}" for picture, term in PICTURES.items() if f"_{picture}_" in f"_{words}_"), None)


def about_python(name, is_function):
    return about_test(name[len("test_"):]) if is_function and name.startswith("test_") else about_identifier(name)


def complaints(path, lines):
    if python_source.is_python(path, lines):
        for number, name, is_function in python_source.names(lines):
            if why := about_python(name, is_function):
                yield number, f"{name}: {why}"
    if not path.endswith((".h", ".cc", ".c")):
        return
    for number, line in enumerate(style_test.strip_comments(lines), 1):
        match = TEST_CPP.match(line)
        if match and (why := about_gtest(match.group(1))):
            yield number, f"{match.group(1)}: {why}"
        for name in IDENTIFIER.findall(line):
            if not (match and name == match.group(1)) and (why := about_identifier(name)):
                yield number, f"{name}: {why}"


def self_test():
    """Each rule must be able to fail, and must not see what is no such name."""
    bad = {
        "a_test.cc": ["TEST(A, who_leaves_sends_an_ack) {", "TEST_F(A, f__nobody_waits) {", "TEST_P(A, a_stranger_is_dropped) {",
                      "TEST(A, what_is_lost_is_retransmitted) {", "TEST(A, LostPacketsAreRetransmitted) {", "TEST(A, f__what_is_refused) {", "TEST(A, reaches_those_who_wait) {",
                      "TYPED_TEST(A, wakes_whoever_sleeps) {", "TEST(A, everyone_is_served) {", "TEST(A, those_in_use_are_skipped) {", "  bool heard_of_it;", "constexpr int kMostPackets = 4, kLeast = 1;",
                      "TEST(A, refuses) {", "TEST_P(A, tail) {"],
        "b.h": ["  Duration probe_patience() const;", "  int told_ = 0;", "void throw_stranger();", "uint64_t take_untold_losses();",
                "  Nap nap_;", "void ask_for_ports();", "void look_after(Pair* pair);", "constexpr bool kYesWakeHim = true;"],
        "c.py": ["def test_somebody_connects(): pass", "def test_a_name_of_someone_else(): pass",
                 "class Case:", "    def test_who_sends(self): pass", "def test_what_is_missing(): pass"],
        "names.py": ["PATIENCE = 1.25", "def refuses_visitors(): pass", "async def look_after(link): pass", "class Stranger: pass",
                     "def f(heard, *, ask_first=False): pass", "import threading as nap", "for word_up, x in (): pass",
                     "link.comes_back = True", "with open(path) as welcome: pass", "g = lambda on_word: 0",
                     "try:", "    f()", "except OSError as untold: pass"],
        "tools/dev/program": ["#!/usr/bin/env python3", "PATIENCE = 1"],
    }
    expected = {"a_test.cc": 15, "b.h": 9, "c.py": 4, "names.py": 12, "tools/dev/program": 1}
    good = {
        "a_test.cc": ["TEST(A, control_packets_have_no_body) {", "TEST(A, a_sender_whose_peer_has_gone_fails) {", "TEST(A, f__keeps_what_was_sent) {", '  log("nobody was heard");',
                      "  // kMostX, heard", "constexpr int kMostlyIdle = 1;", "TEST(A, send__completes) {", "TEST(A, sends_once) {"],
        "b.h": ["  bool told = false;", "int most_recent;", "Snapshot take_snapshot();", "bool stop_if_asked(); int mask_bits, task_count;"],
        "c.py": ['say("nobody", patience=1)', "def whoever(): return link.heard + heard", "import nap", "# PATIENCE = 1",
                 "def test_a_link_that_fails_comes_back(): pass", "def test_loss(): pass", "def looks_after(): on_words = 1"],
        "tools/dev/script": ["#!/bin/sh", "PATIENCE=1"],
    }
    for path, lines in bad.items():
        found = list(complaints(path, lines))
        assert len(found) == expected[path], (path, found)
    for path, lines in good.items():
        assert not list(complaints(path, lines)), (path, list(complaints(path, lines)))


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    found, looked = [], 0
    for path in sorted(style_test.files(root)):
        if "/corpus/" in path or not path.endswith((".h", ".cc", ".c", ".py")) and "." in os.path.basename(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as source:
            lines = source.read().split("\n")
        looked += 1
        found += [f"{path}:{number}: {text}" for number, text in complaints(path, lines)]
    return style_test.conclude(found, looked, "files looked at")


if __name__ == "__main__":
    sys.exit(main())
