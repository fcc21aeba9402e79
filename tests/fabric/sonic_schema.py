"""What a config_db.json of SONiC may hold, as far as mrc-fabric writes it: tables, keys, fields and forms of values.

SONiC's database holds text only. A table is (pattern of its keys, {field: pattern}, required fields).
"""
import re

PORT = r"Ethernet\d+"
NUMBER = r"\d+"
IPV6 = r"[0-9a-f:]+"
PREFIX = IPV6 + r"/\d{1,3}"
NAME = r"[A-Za-z0-9_.-]+"
DSCP = r"[0-9]|[1-5][0-9]|6[0-3]"
QUEUE = r"[0-7]"

TABLES = {
    "DEVICE_METADATA": ("localhost", {"hostname": NAME, "type": "LeafRouter|SpineRouter"}, ("hostname", "type")),
    "PORT": (PORT, {"alias": NAME, "description": r"[A-Za-z0-9:-]+", "speed": NUMBER, "mtu": NUMBER, "admin_status": "up|down"},
             ("alias", "speed", "mtu", "admin_status")),
    "INTERFACE": (rf"{PORT}(\|{PREFIX})?", {"ipv6_use_link_local_only": "enable|disable"}, ()),
    "SRV6_MY_LOCATORS": (NAME, {"prefix": IPV6, "block_len": NUMBER, "node_len": NUMBER, "func_len": NUMBER, "arg_len": NUMBER},
                         ("prefix", "block_len", "node_len")),
    "SRV6_MY_SIDS": (rf"{NAME}\|{PREFIX}", {"action": "uN|uDT46", "decap_vrf": NAME, "decap_dscp_mode": "uniform|pipe"}, ("action",)),
    "STATIC_ROUTE": (rf"{NAME}\|{PREFIX}",
                     {"nexthop": rf"{IPV6}(,{IPV6})*", "ifname": rf"{PORT}(,{PORT})*", "blackhole": "true|false", "distance": NUMBER}, ()),
    "DSCP_TO_TC_MAP": (NAME, {DSCP: QUEUE}, ()),
    "TC_TO_QUEUE_MAP": (NAME, {QUEUE: QUEUE}, ()),
    "SCHEDULER": (NAME, {"type": "DWRR|WRR|STRICT", "weight": r"[1-9]\d?|100"}, ("type",)),
    "WRED_PROFILE": (NAME, {"ecn": "ecn_all|ecn_none", "wred_green_enable": "true|false", "green_min_threshold": NUMBER,
                            "green_max_threshold": NUMBER, "green_drop_probability": r"\d{1,2}|100"},
                     ("ecn", "green_min_threshold", "green_max_threshold")),
    "BUFFER_PROFILE": (NAME, {"pool": NAME, "size": NUMBER, "static_th": NUMBER, "packet_discard_action": "drop|trim"},
                       ("pool", "size")),
    "BUFFER_QUEUE": (rf"{PORT}\|{QUEUE}", {"profile": NAME}, ("profile",)),
    "QUEUE": (rf"{PORT}\|{QUEUE}", {"scheduler": NAME, "wred_profile": NAME}, ("scheduler",)),
    "PORT_QOS_MAP": (PORT, {"dscp_to_tc_map": NAME, "tc_to_queue_map": NAME}, ("dscp_to_tc_map", "tc_to_queue_map")),
    "SWITCH_TRIMMING": ("GLOBAL", {"size": NUMBER, "dscp_value": DSCP, "queue_index": QUEUE}, ("size", "dscp_value", "queue_index")),
}

# (table, field) -> the table in which its value must be a key; None: the part of the key before the bar.
REFERENCES = {("QUEUE", "scheduler"): "SCHEDULER", ("QUEUE", "wred_profile"): "WRED_PROFILE", ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
              ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP", ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
              ("QUEUE", None): "PORT", ("BUFFER_QUEUE", None): "PORT", ("INTERFACE", None): "PORT", ("PORT_QOS_MAP", None): "PORT",
              ("SRV6_MY_SIDS", None): "SRV6_MY_LOCATORS"}


def complaints(db):
    """Sentences about what is not as it should be."""
    found = []
    for table, rows in db.items():
        if table not in TABLES:
            found.append(f"{table}: no such table")
            continue
        keys, fields, required = TABLES[table]
        for key, row in rows.items():
            if not re.fullmatch(keys, key):
                found.append(f"{table}|{key}: no such key")
            for field in required:
                if field not in row:
                    found.append(f"{table}|{key}: {field} is missing")
            for field, value in row.items():
                pattern = next((p for f, p in fields.items() if re.fullmatch(f, field)), None)
                if pattern is None or not isinstance(value, str) or not re.fullmatch(pattern, value):
                    found.append(f"{table}|{key}: {field} is {value!r}")
    for (table, field), target in REFERENCES.items():
        for key, row in db.get(table, {}).items():
            name = key.split("|")[0] if field is None else row.get(field)
            if name is not None and name not in db.get(target, {}):
                found.append(f"{table}|{key}: {name} is not in {target}")
    for key, row in db.get("STATIC_ROUTE", {}).items():
        if ("nexthop" in row) == ("blackhole" in row) or len(row.get("nexthop", "").split(",")) != len(row.get("ifname", "").split(",")):
            found.append(f"STATIC_ROUTE|{key}: neither next hops with their ports nor a black hole")
        for port in filter(None, row.get("ifname", "").split(",")):
            if port not in db.get("PORT", {}):
                found.append(f"STATIC_ROUTE|{key}: {port} is not in PORT")
    return found
