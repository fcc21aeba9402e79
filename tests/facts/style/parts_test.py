"""Parts that are in the tree but in no list: they compile, and nothing uses, tests or documents them.

usage: parts_test.py SOURCE_DIR
Complaints: a congestion control algorithm without a line in the registry, a datapath that the conformance suite does not
run over, a setting that no code reads, a golden packet that is no seed of the decoder's fuzzer, a function of the OCP API
that the provider's table or the shim lacks, and a page that names another range of NCCL's net plugin versions than
MRC_NET_VERSIONS.
"""
import json
import os
import re
import sys

from style_test import conclude, files, strip_comments

REGISTRY = "libmrc/src/core/congestion/registry.h"
WORDS = "libmrc/src/device/setting_words.h"
RIGS = "tests/system/unit/datapath/conformance_rigs.cc"
VECTORS = "spec/vectors/wire_headers.json"
SEEDS = "tests/fuzz/corpus/wire_decode_fuzz/"
API = "spec/abi/mrc_abi.json"
TABLE = "libmrc/provider/functions.h"
SHIM = "verbs-shim/interpose/mrc.cc"
NET_ABI = "nccl-plugin/include/net_abi.h"
# A table of settings, and where its members are read.
SETTINGS = {"libmrc/src/device/settings.h": ("libmrc/src/",), "tools/mrcd/settings.h": ("tools/mrcd/",),
            "nccl-plugin/src/settings.h": ("nccl-plugin/src/",)}

ALGORITHM = re.compile(r"^const CongestionAlgorithm (\w+) =", re.M)
SETTING = re.compile(r"^  (?:INT|REAL|FLAG|WORD|NAME|TEXT)\((\w+),", re.M)
NET_RANGE = re.compile(r"\b(\d+) to (\d+)\b")
NET_PAGE = re.compile(r"\bABI\b|net(?:work)? plugin|ncclNet|Version of the interface|all, or newest")


def algorithms(tree):
    for path, text in sorted(tree.items()):
        if path.startswith("libmrc/src/core/congestion/"):
            for name in ALGORITHM.findall(text):
                if f"X({name})" not in tree[REGISTRY]:
                    yield f"{path}: {name} has no line in MRC_CONGESTION_ALGORITHMS of {REGISTRY}"


def datapaths(tree):
    words = re.search(r"^#define MRC_WORDS_DATAPATH_KIND\(W\)(.*(?:\\\n.*)*)", tree[WORDS], re.M)[1]
    for word in re.findall(r'"(\w+)"', words):
        if not re.search(rf'"{word}(?:_\w+)?"', tree[RIGS]):
            yield f"{WORDS}: datapath '{word}' has no rig in {RIGS}, so the conformance suite does not run over it"


def settings(tree):
    for table, places in SETTINGS.items():
        code = "\n".join("\n".join(strip_comments(text.split("\n"))) for path, text in tree.items()
                         if path.startswith(places) and path.endswith((".cc", ".h")) and path != table)
        read = set(re.findall(r"(?:\.|->)(\w+)\b", code))
        for name in SETTING.findall(tree[table]):
            if name not in read:
                yield f"{table}: no code reads the setting '{name}'"


def seeds(tree, corpus):
    for packet in json.loads(tree[VECTORS])["packets"]:
        if bytes.fromhex(packet["hex"]) not in corpus:
            yield f"{VECTORS}: packet '{packet['name']}' is no seed in {SEEDS}"


def api_functions(tree):
    table = set(re.findall(r"\bX\((\w+)\)", tree[TABLE]))
    shim = set(re.findall(r"^MRC_CALL\([^,]*,[^,]*, (\w+),|^MRC_VERSIONS\((\w+)\)", tree[SHIM], re.M))
    shim = {call or versions for call, versions in shim}
    for function in json.loads(tree[API])["functions"]:
        for path, names in ((TABLE, table), (SHIM, shim)):
            if function["name"] not in names:
                yield f"{path} lacks {function['name']}"


def net_versions(tree):
    listed = re.findall(r"X\((\d+)\)", re.search(r"define MRC_NET_VERSIONS\(X\)(.*)", tree[NET_ABI])[1])
    for path, text in sorted(tree.items()):
        if not path.startswith(("nccl-plugin/", "tools/man/", "README.md", "spec/abi/nccl")):
            continue
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            for first, last in NET_RANGE.findall(line):
                around = " ".join(lines[max(0, number - 2):number + 1])
                if first == listed[0] and last != listed[-1] and NET_PAGE.search(around):
                    yield f"{path}:{number}: versions {first} to {last}, but MRC_NET_VERSIONS ends with {listed[-1]}"


def complaints(tree, corpus):
    return [*algorithms(tree), *datapaths(tree), *settings(tree), *seeds(tree, corpus), *api_functions(tree), *net_versions(tree)]


def self_test():
    good = {REGISTRY: "X(kA)", "libmrc/src/core/congestion/a.cc": "const CongestionAlgorithm kA = {};",
            WORDS: '#define MRC_WORDS_DATAPATH_KIND(W) W(kUdp, "udp") W(kRaw, "raw")', RIGS: '{"udp_ipv4", a}, {"raw", b}',
            "libmrc/src/device/settings.h": "  INT(linger, 1, 2)\n  TEXT(trace, )", "libmrc/src/a.cc": "s.linger; c->trace",
            "tools/mrcd/settings.h": "", "nccl-plugin/src/settings.h": "", VECTORS: '{"packets": [{"name": "a", "hex": "d1"}]}',
            API: '{"functions": [{"name": "mrc_f"}]}', TABLE: "X(mrc_f)", SHIM: "MRC_CALL(int, -1, mrc_f, (int), 1)",
            NET_ABI: "#define MRC_NET_VERSIONS(X) X(6) X(12)", "README.md": "a network plugin of ABI 6 to 12"}
    assert not complaints(good, {b"\xd1"}), complaints(good, {b"\xd1"})
    for path, text in ((REGISTRY, "X(kB)"), (RIGS, '{"udp_ipv4", a}'), ("libmrc/src/a.cc", "s.linger; // c->trace"),
                       ("libmrc/src/device/settings.h", "  INT(other, 1, 2)"), ("README.md", "a network plugin of ABI 6 to 11"),
                       (TABLE, "X(mrc_g)"), (SHIM, "MRC_CALL(int, -1, mrc_g, (int), 1)")):
        assert len(complaints({**good, path: text}, {b"\xd1"})) == 1, (path, complaints({**good, path: text}, {b"\xd1"}))
    assert len(complaints(good, {b"\xd2"})) == 1


def main():
    self_test()
    root = os.path.abspath(sys.argv[1])
    tree, corpus = {}, set()
    for path in files(root):
        with open(os.path.join(root, path), "rb") as source:
            content = source.read()
        if path.startswith(SEEDS):
            corpus.add(content)
        elif path.endswith((".cc", ".h", ".md", ".json", ".1", ".7", ".8", ".map")):
            tree[path] = content.decode()
    found = complaints(tree, corpus)
    return conclude(found, len(tree), "files")


if __name__ == "__main__":
    sys.exit(main())
