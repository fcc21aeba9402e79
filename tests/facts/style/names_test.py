"""Names are terms of the field, and tests state an outcome: the few pictures that a script finds reliably.

usage: names_test.py SOURCE_DIR
CONTRIBUTING, "Style", has the rules. Only what a source declares or uses is looked at: comments and texts are those of
prose_test.py. A name is read as words, so that `control_packets_have_no_body` names no `nobody`.
"""
import os
import re
import sys

import style_test

TEST_CPP = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*\w+\s*,\s*(\w+)\s*\)")
TEST_PY = re.compile(r"^\s*def test_(\w+)\(")
PEOPLE = {"nobody", "somebody", "anybody", "everybody", "someone", "anyone", "everyone", "whoever", "stranger", "strangers"}
HEADLESS = {"what", "whatever", "who", "whom", "those"}  # as the subject: a clause without the noun that it is about
PICTURES = {"heard": "received, learnt or reported", "patience": "timeout", "untold": "unreported", "stranger": "foreign or unknown",
            "strangers": "foreign or unknown", "visitor": "client", "nap": "park or sleep", "naps": "parks or sleeps"}
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


def about_identifier(name):
    if re.match(r"k(?:Most|Least)(?![a-z])", name):
        return "a limit is kMaxX or kMinX"
    if re.match(r"asks?_", name):
        return "write query_, request_, solicit_ or probe_"
    if name == "told_":
        return "write reported_ or notified_"
    return next((f"write {PICTURES[word]}" for word in words_of(name) if word in PICTURES), None)


def complaints(path, lines):
    if path.endswith(".py"):
        for number, line in enumerate(lines, 1):
            match = TEST_PY.match(line)
            if match and about_test(match.group(1)):
                yield number, f"test_{match.group(1)}: {about_test(match.group(1))}"
        return
    for number, line in enumerate(style_test.strip_comments(lines), 1):
        match = TEST_CPP.match(line)
        if match and about_test(match.group(1)):
            yield number, f"{match.group(1)}: {about_test(match.group(1))}"
        for name in IDENTIFIER.findall(line):
            if about_identifier(name) and not (match and name == match.group(1)):
                yield number, f"{name}: {about_identifier(name)}"


def self_test():
    """Each rule must be able to fail, and must not see what is no such name."""
    bad = {
        "a_test.cc": ["TEST(A, who_leaves_sends_an_ack) {", "TEST_F(A, f__nobody_waits) {", "TEST_P(A, a_stranger_is_dropped) {",
                      "TEST(A, what_is_lost_is_retransmitted) {", "TEST(A, LostPacketsAreRetransmitted) {", "TEST(A, f__what_is_refused) {", "TEST(A, reaches_those_who_wait) {",
                      "TYPED_TEST(A, wakes_whoever_sleeps) {", "TEST(A, everyone_is_served) {", "TEST(A, those_in_use_are_skipped) {", "  bool heard_of_it;", "constexpr int kMostPackets = 4, kLeast = 1;"],
        "b.h": ["  Duration probe_patience() const;", "  int told_ = 0;", "void throw_stranger();", "uint64_t take_untold_losses();",
                "  Nap nap_;", "void ask_for_ports();"],
        "c.py": ["def test_somebody_connects():", "def test_a_name_of_someone_else():", "    def test_who_sends(self):",
                 "def test_what_is_missing():"],
    }
    expected = {"a_test.cc": 13, "b.h": 7, "c.py": 4}
    good = {
        "a_test.cc": ["TEST(A, control_packets_have_no_body) {", "TEST(A, a_sender_whose_peer_has_gone_fails) {", "TEST(A, f__keeps_what_was_sent) {", '  log("nobody was heard");',
                      "  // kMostX, heard", "constexpr int kMostlyIdle = 1;"],
        "b.h": ["  bool told = false;", "int most_recent;", "Snapshot take_snapshot();", "bool stop_if_asked(); int mask_bits, task_count;"],
        "c.py": ['    say("nobody")', "def whoever():"],
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
        if not path.endswith((".h", ".cc", ".c", ".py")) or path.startswith("tests/facts/style/"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as source:
            lines = source.read().split("\n")
        looked += 1
        found += [f"{path}:{number}: {text}" for number, text in complaints(path, lines)]
    return style_test.conclude(found, looked, "files looked at")


if __name__ == "__main__":
    sys.exit(main())
