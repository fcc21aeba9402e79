"""FRR's commands below `segment-routing`, as spec/switch_config.md, section 3, has them: for an FRR that is too old to ask."""
import ipaddress
import re

NAME = r"[A-Za-z0-9_.-]+"
PREFIX = r"(?P<prefix>[0-9a-f:]+/\d+)"
SID = re.compile(rf"sid {PREFIX} locator (?P<locator>{NAME}) behavior (?P<behavior>uN|uA interface {NAME}( nexthop [0-9a-f:]+)?|"
                 rf"uDT(4|6|46) vrf {NAME})")
LOCATOR = re.compile(rf"locator (?P<name>{NAME})")
FORMAT = re.compile(rf"prefix {PREFIX}( block-len (?P<block>\d+))?( node-len (?P<node>\d+))?( func-bits (?P<func>\d+))?")
FRAME = {"segment-routing": 0, "srv6": 1, "locators": 2, "static-sids": 2}  # what opens a level, and the level


def stanza(text):
    """The lines from segment-routing to the end of the file, without comments."""
    lines = text[text.index("\nsegment-routing\n") + 1:].splitlines()
    return [line for line in lines if not line.strip().startswith("!")]


def complaints(text):
    """Line by line: what is no command at its place, and SIDs that do not fit their locator."""
    found, levels, locators, name = [], [], {}, None
    for line in stanza(text):
        words = line.strip()
        if words == "end":
            break
        if len(line) - len(words) != len(levels) - (words == "exit"):
            found.append(f"{line!r}: stands at the wrong depth")
        if words == "exit":
            if not levels:
                found.append("exit: nothing is open")
                break
            levels.pop()
        elif words in FRAME and FRAME[words] == len(levels):
            levels.append(words)
        elif levels[-1:] == ["locators"] and LOCATOR.fullmatch(words):
            name = LOCATOR.fullmatch(words)["name"]
            levels.append("locator")
        elif levels[-1:] == ["locator"] and FORMAT.fullmatch(words):
            locators[name] = FORMAT.fullmatch(words)
        elif levels[-1:] == ["locator"] and words == "behavior usid":
            pass
        elif levels[-1:] == ["static-sids"] and SID.fullmatch(words):
            found += sid_complaints(words, SID.fullmatch(words), locators)
        else:
            found.append(f"{line!r}: no command of {levels[-1] if levels else 'the top level'}")
    return found + [f"{level} is not closed" for level in levels]


def sid_complaints(words, sid, locators):
    locator = locators.get(sid["locator"])
    if locator is None:
        return [f"{words}: there is no locator {sid['locator']}"]
    prefix, own = ipaddress.ip_network(sid["prefix"]), ipaddress.ip_network(locator["prefix"])
    block, node = int(locator["block"] or own.prefixlen - 24), int(locator["node"] or 24)
    found = []
    if block + node != own.prefixlen:
        found.append(f"{words}: {block} and {node} bits are not those of {own}")
    if not prefix.subnet_of(own if sid["behavior"] == "uN" else own.supernet(new_prefix=block)):
        found.append(f"{words}: outside of {own}")
    if sid["behavior"] == "uN" and prefix.prefixlen != block + node:
        found.append(f"{words}: a uN has {block + node} bits")
    return found


def for_frr_8_4(text):
    """The file without what FRR 8.4 lacks, and nothing else: the two lengths, the behaviour, the static SIDs."""
    text = re.sub(r" block-len \d+ node-len \d+", "", text)
    text = text.replace("    behavior usid\n", "")
    return re.sub(r"  static-sids\n(   .*\n)*  exit\n", "", text)
