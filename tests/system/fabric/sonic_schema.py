"""What SONiC accepts of a config_db.json: spec/switch_config.md, section 2, as code, and what trimming needs beyond it.

It is written from what is known of SONiC and not from what mrc-fabric renders. A table is (pattern of its keys,
{pattern of a field: pattern of its value}, required fields); all values are text.
"""
import ipaddress
import re

PORT = r"Ethernet\d+"
NUMBER = r"\d+"
IPV6 = r"[0-9a-f:]+"
PREFIX = IPV6 + r"/\d{1,3}"
NAME = r"[A-Za-z0-9_.-]+"
MAP_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"
DSCP = r"[0-9]|[1-5][0-9]|6[0-3]"
CLASS = r"[0-9]|1[0-5]"
PERCENT = r"\d{1,2}|100"
FLAG = "true|false"
COLOUR = "(green|yellow|red)"

TABLES = {
    # Outside of that section: what every configuration has.
    "DEVICE_METADATA": ("localhost", {"hostname": NAME, "type": "LeafRouter|SpineRouter"}, ("hostname", "type")),
    "PORT": (PORT, {"alias": NAME, "description": r"[A-Za-z0-9:-]+", "speed": NUMBER, "mtu": NUMBER, "admin_status": "up|down"},
             ("alias", "speed", "mtu", "admin_status")),
    "INTERFACE": (rf"{PORT}(\|{PREFIX})?", {"ipv6_use_link_local_only": "enable|disable"}, ()),
    "STATIC_ROUTE": (rf"{NAME}\|{PREFIX}",
                     {"nexthop": rf"{IPV6}(,{IPV6})*", "ifname": rf"{PORT}(,{PORT})*", "blackhole": FLAG, "distance": NUMBER}, ()),
    # That section, row by row.
    "SWITCH_TRIMMING": ("GLOBAL", {"size": NUMBER, "dscp_value": DSCP + "|from-tc", "tc_value": CLASS, "queue_index": "[0-7]|dynamic"},
                        ("size", "dscp_value", "queue_index")),
    "BUFFER_POOL": (NAME, {"type": "ingress|egress|both", "mode": "static|dynamic", "size": NUMBER, "xoff": NUMBER}, ("type", "mode")),
    "BUFFER_PROFILE": (NAME, {"pool": NAME, "size": NUMBER, "dynamic_th": "-[1-8]|[0-7]", "static_th": NUMBER,
                              "packet_discard_action": "drop|trim"}, ("pool", "size")),
    "BUFFER_QUEUE": (rf"{PORT}\|({CLASS})(-({CLASS}))?", {"profile": NAME}, ("profile",)),
    "DSCP_TO_TC_MAP": (MAP_NAME, {DSCP: CLASS}, ()),
    "TC_TO_QUEUE_MAP": (MAP_NAME, {CLASS: "[0-9]"}, ()),
    "TC_TO_DSCP_MAP": (MAP_NAME, {CLASS: DSCP}, ()),
    "PORT_QOS_MAP": (PORT, {"dscp_to_tc_map": MAP_NAME, "tc_to_queue_map": MAP_NAME, "tc_to_dscp_map": MAP_NAME}, ()),
    "SCHEDULER": (MAP_NAME, {"type": "DWRR|WRR|STRICT", "weight": r"[1-9]\d?|100", "priority": "[0-9]", "meter_type": "packets|bytes",
                             "[cp]ir": NUMBER, "[cp]bs": NUMBER}, ("type",)),
    "QUEUE": (rf"{PORT}\|({CLASS})", {"scheduler": MAP_NAME, "wred_profile": MAP_NAME}, ()),
    "WRED_PROFILE": (MAP_NAME, {"ecn": r"ecn_(none|all|green|yellow|red|green_yellow|green_red|yellow_red)",
                                f"wred_{COLOUR}_enable": FLAG, f"{COLOUR}_(min|max)_threshold": NUMBER,
                                f"{COLOUR}_drop_probability": PERCENT}, ()),
    "SRV6_MY_LOCATORS": (NAME, {"prefix": IPV6, "(block|node|func|arg)_len": NUMBER, "vrf": NAME}, ("prefix",)),
    "SRV6_MY_SIDS": (rf"{NAME}\|{PREFIX}", {"action": "uN|uA|uDT46", "decap_vrf": NAME, "decap_dscp_mode": "uniform|pipe",
                                            "interface": PORT, "adj": IPV6}, ("action", "decap_dscp_mode")),
}

# (table, field) -> the table in which its value must be a key; None: the part of the key before the bar.
REFERENCES = {("QUEUE", "scheduler"): "SCHEDULER", ("QUEUE", "wred_profile"): "WRED_PROFILE", ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
              ("BUFFER_PROFILE", "pool"): "BUFFER_POOL", ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
              ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP", ("PORT_QOS_MAP", "tc_to_dscp_map"): "TC_TO_DSCP_MAP",
              ("QUEUE", None): "PORT", ("BUFFER_QUEUE", None): "PORT", ("INTERFACE", None): "PORT", ("PORT_QOS_MAP", None): "PORT",
              ("SRV6_MY_SIDS", None): "SRV6_MY_LOCATORS", ("SRV6_MY_SIDS", "interface"): "PORT"}


def rows(db, table):
    return db.get(table, {}).items()


def forms(db):
    """Names of tables, keys and fields, forms of values, and what refers to what is not there."""
    for table, entries in db.items():
        if table not in TABLES:
            yield f"{table}: no such table"
            continue
        keys, fields, required = TABLES[table]
        for key, row in entries.items():
            if not re.fullmatch(keys, key):
                yield f"{table}|{key}: no such key"
            for field in required:
                if field not in row:
                    yield f"{table}|{key}: {field} is missing"
            for field, value in row.items():
                pattern = next((p for f, p in fields.items() if re.fullmatch(f, field)), None)
                if pattern is None or not isinstance(value, str) or not re.fullmatch(pattern, value):
                    yield f"{table}|{key}: {field} is {value!r}"
    for (table, field), target in REFERENCES.items():
        for key, row in rows(db, table):
            name = key.split("|")[0] if field is None else row.get(field)
            if name is not None and name not in db.get(target, {}):
                yield f"{table}|{key}: {name} is not in {target}"


def buffers(db):
    for name, row in rows(db, "BUFFER_PROFILE"):
        thresholds = [t for t in ("dynamic", "static") if t + "_th" in row]
        mode = db.get("BUFFER_POOL", {}).get(row["pool"], {}).get("mode")
        if thresholds != [mode]:
            yield f"BUFFER_PROFILE|{name}: thresholds {thresholds} in a pool whose mode is {mode}"


def rates(db):
    for name, row in rows(db, "SCHEDULER"):
        cir, pir, cbs, pbs = (int(row.get(f, 0)) for f in ("cir", "pir", "cbs", "pbs"))
        if ("pir" in row and pir < cir) or (cbs and not cir) or (pbs and (not pir or pbs < cbs)):
            yield f"SCHEDULER|{name}: cir {cir}, pir {pir}, cbs {cbs}, pbs {pbs}"
    for name, row in rows(db, "WRED_PROFILE"):
        for colour in ("green", "yellow", "red"):
            if int(row.get(colour + "_max_threshold", 1 << 62)) < int(row.get(colour + "_min_threshold", 0)):
                yield f"WRED_PROFILE|{name}: {colour} ends before it begins"


def segments(db):
    for name, row in rows(db, "SRV6_MY_LOCATORS"):
        lengths = [int(row.get(f + "_len", d)) for f, d in (("block", 32), ("node", 16), ("func", 16), ("arg", 0))]
        if sum(lengths) > 128:
            yield f"SRV6_MY_LOCATORS|{name}: {lengths} are more than 128 bits"
    for key, row in rows(db, "SRV6_MY_SIDS"):
        locator, sid = key.split("|")
        owner = db.get("SRV6_MY_LOCATORS", {}).get(locator)
        if owner is None:
            continue
        block, node = int(owner.get("block_len", 32)), int(owner.get("node_len", 16))
        of_action = block if row["action"] != "uN" else block + node
        prefix = ipaddress.ip_network(sid)
        if not prefix.subnet_of(ipaddress.ip_network(f"{owner['prefix']}/{of_action}", strict=False)):
            yield f"SRV6_MY_SIDS|{key}: outside of {owner['prefix']}/{of_action}"
        lengths = {"uN": (block + node,), "uDT46": (block + node + 16,), "uA": (block + 16, block + node + 16)}
        if prefix.prefixlen not in lengths[row["action"]]:
            yield f"SRV6_MY_SIDS|{key}: {prefix.prefixlen} bits"
        needs = {"uA": "interface", "uDT46": "decap_vrf"}.get(row["action"])
        if needs and needs not in row:
            yield f"SRV6_MY_SIDS|{key}: {row['action']} without {needs}"


def routes(db):
    for key, row in rows(db, "STATIC_ROUTE"):
        if ("nexthop" in row) == ("blackhole" in row) or len(row.get("nexthop", "").split(",")) != len(row.get("ifname", "").split(",")):
            yield f"STATIC_ROUTE|{key}: neither next hops with their ports nor a black hole"
        for port in filter(None, row.get("ifname", "").split(",")):
            if port not in db.get("PORT", {}):
                yield f"STATIC_ROUTE|{key}: {port} is not in PORT"


def trimmed_queues(db):
    """(port, queue) of every queue that may trim."""
    for key, row in rows(db, "BUFFER_QUEUE"):
        if db["BUFFER_PROFILE"][row["profile"]].get("packet_discard_action") == "trim":
            port, queues = key.split("|")
            first, _, last = queues.partition("-")
            yield from ((port, q) for q in range(int(first), int(last or first) + 1))


def trimming(db):
    row = db.get("SWITCH_TRIMMING", {}).get("GLOBAL")
    if row is None:
        return
    size = int(row["size"])
    if not 256 <= size <= 4084 or size % 4:
        yield f"SWITCH_TRIMMING|GLOBAL: size is {size}"
    if (row["dscp_value"] == "from-tc") != ("tc_value" in row):
        yield "SWITCH_TRIMMING|GLOBAL: tc_value goes with from-tc"
    for port, queue in trimmed_queues(db):
        if str(queue) == row["queue_index"]:
            yield f"BUFFER_QUEUE|{port}|{queue}: trimmed packets are trimmed again"
        marks = db["TC_TO_DSCP_MAP"].get(db["PORT_QOS_MAP"][port].get("tc_to_dscp_map")) if "tc_value" in row else None
        if "tc_value" in row and (marks is None or row["tc_value"] not in marks):
            yield f"PORT_QOS_MAP|{port}: its tc_to_dscp_map lacks class {row['tc_value']}"


def complaints(db):
    """Sentences about what is not as it should be. The later checks rely on the forms that the first one checks."""
    return list(forms(db)) or [text for check in (buffers, rates, segments, routes, trimming) for text in check(db)]


def mark(db, port):
    """DSCP of a packet that is trimmed because of `port`."""
    row = db["SWITCH_TRIMMING"]["GLOBAL"]
    if row["dscp_value"] != "from-tc":
        return int(row["dscp_value"])
    return int(db["TC_TO_DSCP_MAP"][db["PORT_QOS_MAP"][port]["tc_to_dscp_map"]][row["tc_value"]])


def crossing(db, port, dscp):
    """(queue, DSCP) with which a packet of that DSCP leaves by `port` if it is not trimmed; unmapped: class 0, unchanged."""
    maps = db["PORT_QOS_MAP"][port]
    tc = db["DSCP_TO_TC_MAP"][maps["dscp_to_tc_map"]].get(str(dscp), "0")
    marks = db["TC_TO_DSCP_MAP"][maps["tc_to_dscp_map"]] if "tc_to_dscp_map" in maps else {}
    return int(db["TC_TO_QUEUE_MAP"][maps["tc_to_queue_map"]].get(tc, "0")), int(marks.get(tc, dscp))
