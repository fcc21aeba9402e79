-- Wireshark dissector for MRC (Multipath Reliable Connection): every opcode, header and field of spec/wire.md, every
-- check of a decoder as expert information, and the ICRC.
--
-- The tables of values, opcodes and fields come from those of the library (mrc-wire-tables writes them); the walk, the
-- checks and the ICRC are a reading of their own. Wireshark 3.4 or newer.
-- Use: tshark -X lua_script:mrc.lua -r FILE, or copy it to the personal plugin folder (README.md beside this file).
-- Filters: mrc.HEADER.FIELD with the names of spec/wire.md (mrc.bth.psn, mrc.seth.cack_psn, ...), mrc.malformed (why a
--   decoder refuses the packet), mrc.icrc.status, mrc.ev.
-- How it goes: one table per header (HEADERS) declares the fields; one table (OPCODES) says which headers follow BTH; the
--   walk takes them one after the other and stops at the first check that fails, in the order of MRC-WIRE-3.
-- A capture on the sending or receiving host sees whole bursts before segmentation (GSO) or behind reassembly (GRO):
--   packets of one size joined in one datagram. They are found by their ICRC and shown one by one.

local mrc = Proto("mrc", "Multipath Reliable Connection")
local bits = bit32 or bit

local UDP_HEADER, BTH, ICRC = 8, 12, 4
local ENDPOINT_QPN = 2

-- Value names ---------------------------------------------------------------------------------------------------------

local REQUEST, CONTROL, ENDPOINT, DATAGRAM = 1, 2, 3, 4
-- [wire-tables opcodes]
local OPCODES = {
  [0x64] = { name = "DATAGRAM", kind = DATAGRAM, headers = { "deth" } },
  [0x65] = { name = "DATAGRAM_IMM", kind = DATAGRAM, headers = { "deth", "immdt" } },
  [0xC6] = { name = "WRITE_FIRST", kind = REQUEST, headers = { "meth", "tseth", "reth" } },
  [0xC7] = { name = "WRITE_MIDDLE", kind = REQUEST, headers = { "meth", "tseth", "reth" } },
  [0xC8] = { name = "WRITE_LAST", kind = REQUEST, headers = { "meth", "tseth", "reth" }, ends = true },
  [0xC9] = { name = "WRITE_LAST_IMM", kind = REQUEST, headers = { "meth", "tseth", "reth", "immdt" }, ends = true },
  [0xCA] = { name = "WRITE_ONLY", kind = REQUEST, headers = { "meth", "tseth", "reth" }, ends = true, only = true },
  [0xCB] = { name = "WRITE_ONLY_IMM", kind = REQUEST, headers = { "meth", "tseth", "reth", "immdt" }, ends = true, only = true },
  [0xD1] = { name = "ACK", kind = CONTROL, headers = { "aeth" } },
  [0xD8] = { name = "ENDPOINT_REQUEST", kind = ENDPOINT, headers = { "erth" } },
  [0xD9] = { name = "ENDPOINT_RESPONSE", kind = ENDPOINT, headers = { "eeth" } },
  [0xDA] = { name = "PLANE_REQUEST", kind = ENDPOINT, headers = { "plth" } },
  [0xDB] = { name = "PLANE_RESPONSE", kind = ENDPOINT, headers = { "plth" } },
  [0xDC] = { name = "SACK", kind = CONTROL, headers = { "seth", "cc_state" } },
  [0xDD] = { name = "NACK", kind = CONTROL, headers = { "neth" } },
  [0xDE] = { name = "PROBE", kind = CONTROL, headers = { "peth" } },
}
-- [end of opcodes]
local OPCODE_NAMES = {}
for code, o in pairs(OPCODES) do OPCODE_NAMES[code] = o.name end

-- [wire-tables values]
local SYNDROMES = {
  [0x61] = "NAK invalid request",
  [0x62] = "NAK remote access error",
  [0x63] = "NAK remote operation error",
}
for value = 0x00, 0x1F do SYNDROMES[value] = "ACK" end
local VERDICTS = {
  [0x00] = "none",
  [0x01] = "skip_once",
  [0x02] = "always_skip",
  [0x03] = "reserved",
}
local REASONS = {
  [0x01] = "TRIMMED",
  [0x02] = "TRIMMED_LASTHOP",
  [0x06] = "NO_BITMAP",
  [0x07] = "NO_PKT_BUFFER",
  [0x0A] = "NO_RESOURCE",
  [0x0B] = "PSN_OOR_WINDOW",
  [0x19] = "UNEXP_EVENT",
}
local ENDPOINT_OPS = {
  [0x00] = "port_status",
  [0x01] = "ev_probe",
}
-- [end of values]
local OP_EV_PROBE = 1

-- Headers: { offset, bytes, name, text [, mask [, value names]] }. A field with `when` is there only when the field named
-- has that value. -----------------------------------------------------------------------------------------------------------

-- [wire-tables headers]
local HEADERS = {
  bth = { bytes = 12, name = "BTH", text = "Base Transport Header", fields = {
    { 0, 1, "opcode", "Opcode", nil, OPCODE_NAMES },
    { 1, 1, "se", "Solicited event (datagrams)", 0x80 },
    { 1, 1, "m", "Migration", 0x40 },
    { 1, 1, "pad", "Pad count", 0x30 },
    { 1, 1, "tver", "Transport version", 0x0F },
    { 2, 2, "pkey", "P_Key", hex = true },
    { 4, 1, "variant_reserve", "Variant reserve", hex = true },
    { 5, 3, "dqp", "Destination QPN", hex = true },
    { 8, 1, "ack_req", "Acknowledge request (a)", 0x80 },
    { 8, 1, "reserved", "Reserved", 0x40, reserved = true },
    { 8, 1, "rtx", "Sent before with this PSN", 0x20 },
    { 8, 1, "ts", "TSETH follows METH", 0x10 },
    { 8, 1, "invariant_reserve", "Reserved", 0x0F, reserved = true },
    { 9, 3, "psn", "PSN" },
  } },
  meth = { bytes = 4, name = "METH", text = "Message Header", fields = {
    { 0, 2, "rqmsn", "Receive message number" },
    { 2, 2, "msn", "Message number" },
  } },
  tseth = { bytes = 4, name = "TSETH", text = "Timestamp Header", fields = {
    { 0, 2, "tx_timestamp", "Transmit timestamp" },
    { 2, 1, "tsr", "Sender's own unit (else 128 ns)", 0x80 },
    { 2, 1, "reserved", "Reserved", 0x7F, reserved = true },
    { 3, 1, "reserved2", "Reserved", 0xF0, reserved = true },
    { 3, 1, "ftype", "Timestamp format", 0x0F },
  } },
  reth = { bytes = 16, name = "RETH", text = "RDMA Header", fields = {
    { 0, 8, "va", "Virtual address of this packet", hex = true },
    { 8, 4, "rkey", "R_Key", hex = true },
    { 12, 4, "dmalen", "Length of the message" },
  } },
  immdt = { bytes = 4, name = "ImmDt", text = "Immediate Data", fields = {
    { 0, 4, "data", "Immediate data", hex = true },
  } },
  aeth = { bytes = 4, name = "AETH", text = "Acknowledge Header", fields = {
    { 0, 1, "syndrome", "Kind and code", nil, SYNDROMES, hex = true },
    { 1, 3, "msn", "Completed messages" },
  } },
  seth = { bytes = 28, name = "SETH", text = "Selective Acknowledge Header", fields = {
    { 0, 1, "type", "Type", 0xF0 },
    { 0, 2, "nxt", "Next header", 0xF80 },
    { 1, 1, "m", "Path verdict", 0x60, VERDICTS },
    { 1, 1, "reserved", "Reserved", 0x1C, reserved = true },
    { 1, 1, "pr", "Answers a probe", 0x02 },
    { 1, 1, "reserved2", "Reserved", 0x01, reserved = true },
    { 2, 2, "ack_psn_offset", "PSN that caused it, from cack_psn", when = { "pr", 0 }, signed = true },
    { 2, 2, "probe_id", "Probe id", when = { "pr", 1 } },
    { 4, 4, "entropy", "EV of the packet that caused it", hex = true },
    { 8, 2, "spdcid", "Source PDC id", hex = true },
    { 10, 2, "dpdcid", "Destination PDC id", hex = true },
    { 12, 1, "reserved3", "Reserved", reserved = true },
    { 13, 3, "cack_psn", "Cumulative PSN" },
    { 16, 1, "cc_type", "CC type", 0xF0 },
    { 16, 1, "cc_fl", "CC flags", 0x0F },
    { 17, 1, "mpr", "Window, units of 128 PSNs" },
    { 18, 2, "sack_offset", "Base of the bitmap, from cack_psn", signed = true },
    { 20, 8, "sack_bitmap", "Arrived", hex = true },
  } },
  cc_state = { bytes = 8, name = "CC_STATE", text = "Congestion Control State", fields = {
    { 0, 2, "tx_timestamp", "Reflected timestamp" },
    { 2, 1, "reserved", "Reserved", 0x80, reserved = true },
    { 2, 2, "ooo_count", "Arrived out of order", 0x7FFF },
    { 4, 1, "restore_cwnd", "Restore window", 0x80 },
    { 4, 1, "rcv_cwnd_pen", "Window penalty", 0x7F },
    { 5, 3, "rcvd_bytes", "Received, units of 256 bytes" },
  } },
  neth = { bytes = 20, name = "NETH", text = "Negative Acknowledge Header", fields = {
    { 0, 1, "type", "Type", 0xF0 },
    { 0, 2, "nxt", "Next header", 0xF80 },
    { 1, 1, "reserved", "Reserved", 0x7F, reserved = true },
    { 2, 1, "reason", "Reason", nil, REASONS, hex = true },
    { 3, 1, "vendor_info", "Vendor information", hex = true },
    { 4, 4, "entropy", "EV of the rejected packet", hex = true },
    { 8, 2, "spdcid", "Source PDC id", hex = true },
    { 10, 2, "dpdcid", "Destination PDC id", hex = true },
    { 12, 1, "reserved2", "Reserved", reserved = true },
    { 13, 3, "nack_psn", "Rejected PSN" },
    { 16, 1, "cc_type", "CC type", 0xF0 },
    { 16, 1, "cc_fl", "CC flags", 0x0F },
    { 17, 1, "reserved3", "Reserved", reserved = true },
    { 18, 2, "tx_timestamp", "Reflected timestamp" },
  } },
  peth = { bytes = 16, name = "PETH", text = "Probe Header", fields = {
    { 0, 1, "type", "Type", 0xF0 },
    { 0, 2, "nh", "Next header", 0xF80 },
    { 1, 1, "reserved", "Reserved", 0x7F, reserved = true },
    { 2, 1, "reserved2", "Reserved", reserved = true },
    { 3, 1, "vendor_info", "Vendor information", hex = true },
    { 4, 2, "probe_id", "Probe id" },
    { 6, 2, "reserved3", "Reserved", reserved = true },
    { 8, 2, "spdcid", "Source PDC id", hex = true },
    { 10, 2, "dpdcid", "Destination PDC id", hex = true },
    { 12, 2, "tx_timestamp", "Transmit timestamp" },
    { 14, 1, "tsr", "Sender's own unit (else 128 ns)", 0x80 },
    { 14, 1, "reserved4", "Reserved", 0x7F, reserved = true },
    { 15, 1, "reserved5", "Reserved", 0xF0, reserved = true },
    { 15, 1, "ftype", "Timestamp format", 0x0F },
  } },
  erth = { bytes = 16, name = "ERTH", text = "Endpoint Request Header", fields = {
    { 0, 1, "type", "Type", 0xF0 },
    { 0, 2, "nxt", "Next header", 0xF80 },
    { 1, 1, "reserved", "Reserved", 0x7C, reserved = true },
    { 1, 1, "op", "Operation", 0x03, ENDPOINT_OPS },
    { 2, 1, "reserved2", "Reserved", reserved = true },
    { 3, 1, "vendor_info", "Vendor information (process slot)", hex = true },
    { 4, 4, "port_status_mask", "Ports up", hex = true },
    { 8, 4, "reserved3", "Reserved", reserved = true },
    { 12, 2, "tx_timestamp", "Transmit timestamp" },
    { 14, 1, "tsr", "Sender's own unit (else 128 ns)", 0x80 },
    { 14, 1, "reserved4", "Reserved", 0x7F, reserved = true },
    { 15, 1, "reserved5", "Reserved", 0xF0, reserved = true },
    { 15, 1, "ftype", "Timestamp format", 0x0F },
  } },
  eeth = { bytes = 36, name = "EETH", text = "Endpoint Response Header", fields = {
    { 0, 1, "reserved", "Reserved", reserved = true },
    { 1, 1, "reserved2", "Reserved", 0xF0, reserved = true },
    { 1, 1, "op", "Operation", 0x0C, ENDPOINT_OPS },
    { 1, 1, "reserved3", "Reserved", 0x03, reserved = true },
    { 2, 26, "reserved4", "Reserved", reserved = true },
    { 28, 2, "tx_timestamp", "Reflected timestamp" },
    { 30, 6, "reserved5", "Reserved", reserved = true },
  } },
  plth = { bytes = 36, name = "PLTH", text = "Plane Header (extension)", fields = {
    { 0, 1, "version", "Version" },
    { 1, 1, "plane", "Queried plane, from 0" },
    { 2, 1, "planes", "Planes of the sender" },
    { 3, 1, "slot", "Process slot" },
    { 4, 8, "nonce", "Nonce", hex = true },
    { 12, 16, "addr", "Address on that plane; IPv4 as ::ffff:a.b.c.d", address = true },
    { 28, 2, "port", "Port of process slot 0" },
    { 30, 2, "port_base", "Port base" },
    { 32, 1, "ready", "The requester's address is accepted", 0x80 },
    { 32, 1, "ports", "An SPTH follows", 0x40 },
    { 32, 1, "reserved", "Reserved", 0x3F, reserved = true },
    { 33, 3, "reserved2", "Reserved", reserved = true },
  } },
  spth = { bytes = 76, name = "SPTH", text = "Source Port Header (extension)", fields = {
    { 0, 2, "total", "Source ports of the plane" },
    { 2, 2, "first", "Index of the first one here" },
    { 4, 4, "set", "Identifier of the list", hex = true },
    { 8, 68, "ports", "Source ports" },
  } },
  deth = { bytes = 8, name = "DETH", text = "Datagram Header", fields = {
    { 0, 4, "qkey", "Q_Key", hex = true },
    { 4, 1, "reserved", "Reserved", reserved = true },
    { 5, 3, "src_qpn", "Source QPN", hex = true },
  } },
}
-- [end of headers]

-- Protocol fields, made from the tables --------------------------------------------------------------------------------

local all = {}
local function keep(field)
  all[#all + 1] = field
  return field
end

local function declare(abbr, f)
  local size, shown = f[2], f.hex and base.HEX or base.DEC
  if f.address then return ProtoField.ipv6(abbr, f[4]) end
  if f.signed then return ProtoField.int16(abbr, f[4], base.DEC) end
  if size == 1 then return ProtoField.uint8(abbr, f[4], f[6] and base.HEX or shown, f[6], f[5]) end
  if size == 2 then return ProtoField.uint16(abbr, f[4], shown, f[6], f[5]) end
  if size == 3 then return ProtoField.uint24(abbr, f[4], shown, f[6], f[5]) end
  if size == 4 then return ProtoField.uint32(abbr, f[4], shown, f[6], f[5]) end
  if size == 8 then return ProtoField.uint64(abbr, f[4], shown) end
  return ProtoField.bytes(abbr, f[4])
end

for key, h in pairs(HEADERS) do
  h.field = keep(ProtoField.none("mrc." .. key, h.name .. ", " .. h.text))
  for _, f in ipairs(h.fields) do f.field = keep(declare("mrc." .. key .. "." .. f[3], f)) end
end

local F = {
  ev = keep(ProtoField.uint32("mrc.ev", "EV (flow label and source port)", base.HEX)),
  ack_psn = keep(ProtoField.uint32("mrc.seth.ack_psn", "PSN that caused it")),
  trimmed = keep(ProtoField.bool("mrc.trimmed", "Trimmed by a switch")),
  payload = keep(ProtoField.bytes("mrc.payload", "Payload")),
  payload_len = keep(ProtoField.uint32("mrc.payload_len", "Payload bytes")),
  pad = keep(ProtoField.bytes("mrc.pad_bytes", "Pad")),
  nominal = keep(ProtoField.uint32("mrc.nominal_size", "Nominal size")),
  icrc = keep(ProtoField.uint32("mrc.icrc", "ICRC", base.HEX)),
  icrc_computed = keep(ProtoField.uint32("mrc.icrc.computed", "ICRC computed", base.HEX)),
  icrc_dst = keep(ProtoField.string("mrc.icrc.dst", "Destination as it will arrive")),
  icrc_status = keep(ProtoField.string("mrc.icrc.status", "ICRC status")),
  malformed = keep(ProtoField.string("mrc.malformed", "Malformed")),
  rest = keep(ProtoField.bytes("mrc.rest", "Bytes not decoded")),
  burst = keep(ProtoField.uint32("mrc.burst.packets", "Packets of one burst in this datagram")),
}
mrc.fields = all

-- Expert information: what a decoder refuses is an error, what merely deserves a look a warning or a note. ---------------

local experts = {}
local function info(name, text, group, severity)
  local e = ProtoExpert.new("mrc.expert." .. name, text, group, severity)
  experts[#experts + 1] = e
  return { expert = e, text = text }
end
local function refusal(name, text) return info(name, text, expert.group.MALFORMED, expert.severity.ERROR) end
local function warning(name, text) return info(name, text, expert.group.PROTOCOL, expert.severity.WARN) end
local function note(name, text) return info(name, text, expert.group.SEQUENCE, expert.severity.NOTE) end

local E = {
  tver = refusal("tver", "transport version not 0"),
  opcode = refusal("opcode", "unknown opcode"),
  no_icrc = refusal("no_icrc", "no ICRC"),
  pad = refusal("pad", "pad count does not fit"),
  payload = refusal("payload", "payload length contradicts opcode or RETH"),
  trailing = refusal("trailing", "bytes behind a control header"),
  qpn = refusal("qpn", "endpoint operation to an ordinary QPN"),
  not_request = refusal("not_request", "trimmed packet is no request"),
  icrc = info("icrc", "ICRC is wrong", expert.group.CHECKSUM, expert.severity.ERROR),
  cut = warning("cut", "the capture does not hold the whole packet"),
  reserved_qpn = warning("reserved_qpn", "QPNs 0, 1 and 2 belong to no queue pair"),
  reserved_bits = warning("reserved_bits", "reserved bits are not 0"),
  repeated_psn = warning("repeated_psn", "BTH.PSN differs from the PSN in the header that it should repeat"),
  value = warning("value", "value without a meaning"),
  rtx = note("rtx", "sent before with this PSN"),
  nack = note("nack", "packet was rejected"),
  nak = note("nak", "transport NAK: the queue pair fails"),
  trimmed = note("trimmed", "a switch has trimmed this packet: payload and ICRC are gone"),
  marked = info("marked", "congestion was experienced on this path", expert.group.SEQUENCE, expert.severity.CHAT),
}
for key, h in pairs(HEADERS) do h.short = refusal("short_" .. key, "short " .. h.name) end
mrc.experts = experts

-- Preferences ----------------------------------------------------------------------------------------------------------

mrc.prefs.ports = Pref.range("UDP ports", "4791,4971", "UDP ports of MRC; others are tried by their ICRC", 65535)
mrc.prefs.check_icrc = Pref.bool("Check the ICRC", true, "Also finds the packets in joined datagrams")
mrc.prefs.trimmed = Pref.uint("DSCP TRIMMED", 12, "DSCP that switches give to trimmed packets")
mrc.prefs.trimmed_lasthop = Pref.uint("DSCP TRIMMED_LASTHOP", 16, "DSCP that the last switch gives to trimmed packets")

-- What lies around the packet --------------------------------------------------------------------------------------------

local ip = {
  v4 = { src = Field.new("ip.src"), dst = Field.new("ip.dst"), dscp = Field.new("ip.dsfield.dscp"), ecn = Field.new("ip.dsfield.ecn") },
  v6 = { src = Field.new("ipv6.src"), dst = Field.new("ipv6.dst"), dscp = Field.new("ipv6.tclass.dscp"),
    ecn = Field.new("ipv6.tclass.ecn"), label = Field.new("ipv6.flow") },
}

-- The last of several: with encapsulation the inner header counts.
local function last(field)
  local found = { field() }
  return found[#found]
end

-- Where the destination is a list of uSIDs, the ICRC is made for what the switches still on the way will leave of it
-- [MRC-SR-2] [MRC-SR-7]. Which that is shows when it fits, and holds for all packets to this destination.
local arrives = {}

local function shifted(dst)
  if dst:sub(5, 6) == "\0\0" then return nil end
  return dst:sub(1, 4) .. dst:sub(7) .. "\0\0"
end

local function address_text(raw)
  local groups = {}
  for i = 1, 15, 2 do groups[#groups + 1] = ("%x"):format(raw:byte(i) * 256 + raw:byte(i + 1)) end
  return (table.concat(groups, ":"):gsub(":0[:0]*$", "::"))
end

-- The innermost IP header and the UDP ports: what ICRC and EV are made of.
local function flow_of(pinfo)
  local a, b = last(ip.v4.src), last(ip.v6.src)
  local version = ip.v4
  if not a and not b then return nil end
  if b and (not a or b.offset > a.offset) then version = ip.v6 end
  local dscp, ecn, label = last(version.dscp), last(version.ecn), version.label and last(version.label)
  local dst = last(version.dst).range:raw()
  return {
    v6 = version == ip.v6, src = last(version.src).range:raw(), dst = arrives[dst] or dst, sent_to = dst,
    src_port = pinfo.src_port, dst_port = pinfo.dst_port,
    dscp = dscp and dscp.value or 0, ecn = ecn and ecn.value or 0, label = label and label.value or 0,
  }
end

local function is_trimmed(flow) return flow.dscp == mrc.prefs.trimmed or flow.dscp == mrc.prefs.trimmed_lasthop end

-- ICRC [MRC-ICRC-1..5] ----------------------------------------------------------------------------------------------------

local CRC = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do
    local low = c % 2
    c = bits.rshift(c, 1)
    if low == 1 then c = bits.bxor(c, 0xEDB88320) end
  end
  CRC[i] = c
end

local function crc32(state, s)
  local band, bxor, rshift = bits.band, bits.bxor, bits.rshift
  for at = 1, #s, 64 do
    local chunk = { s:byte(at, at + 63) }
    for i = 1, #chunk do state = bxor(CRC[band(bxor(state, chunk[i]), 0xFF)], rshift(state, 8)) end
  end
  return state
end

local function be16(v) return string.char(math.floor(v / 256) % 256, v % 256) end

-- Over `packet` without its trailer; `bytes` is the whole UDP payload of this packet.
local function icrc(flow, packet, bytes)
  local udp = bytes + UDP_HEADER
  local head
  if flow.v6 then
    head = "\x6F\xFF\xFF\xFF" .. be16(udp) .. "\x11\xFF" .. flow.src .. flow.dst
  else  -- identification and fragment field as an unfragmented datagram should have them
    head = "\x45\xFF" .. be16(udp + 20) .. "\0\0\x40\0\xFF\x11\xFF\xFF" .. flow.src .. flow.dst
  end
  head = string.rep("\xFF", 8) .. head .. be16(flow.src_port) .. be16(flow.dst_port) .. be16(udp) .. "\xFF\xFF"
  local state = crc32(0xFFFFFFFF, head .. packet:sub(1, 4) .. "\xFF")
  return bits.bnot(crc32(state, packet:sub(6, bytes - ICRC))) % 0x100000000
end

local function stored_icrc(packet, bytes)
  local a, b, c, d = packet:byte(bytes - 3, bytes)
  return a + b * 0x100 + c * 0x10000 + d * 0x1000000
end

local function icrc_fits(flow, packet, bytes)
  if #packet < bytes or bytes < BTH + ICRC then return false end
  local stored = stored_icrc(packet, bytes)
  if icrc(flow, packet, bytes) == stored then return true end
  if not flow.v6 or arrives[flow.sent_to] then return false end
  local wire = flow.dst
  flow.dst = shifted(wire)
  while flow.dst do
    if icrc(flow, packet, bytes) == stored then
      arrives[flow.sent_to] = flow.dst
      return true
    end
    flow.dst = shifted(flow.dst)
  end
  flow.dst = wire
  return false
end

-- Bursts -----------------------------------------------------------------------------------------------------------------

-- Bytes of the first packet when `data` holds several of one queue pair, joined by segmentation offload (the last may be
-- of another kind: a probe, an answer); else all of them. The ICRC decides; what must repeat in the next BTH (P_Key, QPN)
-- saves most of the computations.
local function packet_bytes(flow, data)
  local o = OPCODES[data:byte(1)]
  if not o then return #data end
  if o.kind ~= REQUEST and o.kind ~= DATAGRAM then  -- of known length; the rest is a packet of its own when the ICRC says so
    local n = BTH + ICRC
    for _, key in ipairs(o.headers) do n = n + HEADERS[key].bytes end
    return n < #data and icrc_fits(flow, data, n) and n or #data
  end
  local same = data:sub(3, 8)
  local at = BTH
  while true do
    at = data:find(same, at + 1, true)
    if not at then return #data end
    local cut = at - 3  -- bytes before the BTH that may begin there
    local next_op = cut >= BTH + ICRC and OPCODES[data:byte(cut + 1)]
    if next_op and cut % 4 == 0 and icrc_fits(flow, data, cut) then return cut end
  end
end

-- The walk ---------------------------------------------------------------------------------------------------------------

-- One packet: `tvb` is its range, `whole` its length on the wire, which a capture may have cut.
local Walk = {}
Walk.__index = Walk

function Walk:refuse(e, item)
  local i = (item or self.tree):add_proto_expert_info(e.expert)
  self.tree:add(F.malformed, e.text):set_generated()
  self.summary[#self.summary + 1] = "[" .. e.text .. "]"
  self.refused = true
  return i
end

function Walk:value(f)
  local n = 0
  for i = 1, f[2] do n = n * 256 + self.data:byte(self.at + f[1] + i) end
  if f[5] then
    n = bits.band(n, f[5])
    local mask = f[5]
    while mask % 2 == 0 do n, mask = n / 2, mask / 2 end
  end
  if f.signed and n >= 0x8000 then n = n - 0x10000 end
  return n
end

-- Shows one header and returns its values; nil when the packet ends inside it.
function Walk:take(key)
  local h = HEADERS[key]
  if self.whole - self.at < h.bytes then
    self:refuse(h.short)
    if #self.data > self.at then self.tree:add(F.rest, self.tvb(self.at, #self.data - self.at)) end
    return nil
  end
  if #self.data - self.at < h.bytes then
    self.tree:add_proto_expert_info(E.cut.expert)
    return nil
  end
  local tree = self.tree:add(h.field, self.tvb(self.at, h.bytes))
  local values = {}
  for _, f in ipairs(h.fields) do
    local number = f[2] <= 4 and self:value(f)
    if not f.when or values[f.when[1]] == f.when[2] then
      local range = self.tvb(self.at + f[1], f[2])
      local item = tree:add(f.field, range)
      values[f[3]] = number
      if f.reserved and range:raw():find("[^%z]") and (number or 1) ~= 0 then item:add_proto_expert_info(E.reserved_bits.expert) end
      if f[6] and not f[6][number] and f[3] ~= "opcode" then item:add_proto_expert_info(E.value.expert) end
    end
  end
  self.at = self.at + h.bytes
  return values, tree
end

function Walk:say(format, ...) self.summary[#self.summary + 1] = format:format(...) end

-- What each header adds to the line of the packet list, and what it must agree with.
local SPEAK = {
  meth = function(w, v) w:say("msn=%d", v.msn) end,
  reth = function(w, v) w.dmalen = v.dmalen; w:say("len=%d", v.dmalen) end,
  immdt = function(w, v) w:say("imm=0x%08x", v.data) end,
  deth = function(w, v) w:say("from=0x%06x qkey=0x%08x", v.src_qpn, v.qkey) end,
  aeth = function(w, v, tree)
    w:say("%s msn=%d", SYNDROMES[v.syndrome] or ("syndrome 0x%02x"):format(v.syndrome), v.msn)
    if v.syndrome > 0x1F then tree:add_proto_expert_info(E.nak.expert) end
  end,
  seth = function(w, v, tree)
    w:say("cack=%d ev=0x%x", v.cack_psn, v.entropy)
    if v.pr == 1 then
      w:say("probe=%d", v.probe_id)
    else
      tree:add(F.ack_psn, (v.cack_psn + v.ack_psn_offset) % 0x1000000):set_generated()
    end
    if v.m == 1 then tree:add_proto_expert_info(E.marked.expert) end
    if v.m ~= 0 then w:say("%s", VERDICTS[v.m]) end
    if v.m == 3 or v.cc_type ~= 0 then tree:add_proto_expert_info(E.value.expert) end
    if v.cack_psn ~= w.bth.psn then tree:add_proto_expert_info(E.repeated_psn.expert) end
  end,
  neth = function(w, v, tree)
    w:say("%s psn=%d ev=0x%x", REASONS[v.reason] or ("reason 0x%02x"):format(v.reason), v.nack_psn, v.entropy)
    tree:add_proto_expert_info(E.nack.expert)
    if v.cc_type ~= 2 then tree:add_proto_expert_info(E.value.expert) end
    if v.nack_psn ~= w.bth.psn then tree:add_proto_expert_info(E.repeated_psn.expert) end
  end,
  peth = function(w, v) w:say("probe=%d", v.probe_id) end,
  erth = function(w, v)
    w.op = v.op
    w:say("%s id=%d", ENDPOINT_OPS[v.op] or "op " .. v.op, w.bth.psn % 0x10000)
    if v.op == 0 then w:say("ports=0x%x", v.port_status_mask) end
  end,
  eeth = function(w, v) w:say("%s id=%d", ENDPOINT_OPS[v.op] or "op " .. v.op, w.bth.psn % 0x10000) end,
  plth = function(w, v, tree)
    w:say("plane=%d of %d%s", v.plane, v.planes, v.ready == 1 and " ready" or "")
    if v.version ~= 1 then tree:add_proto_expert_info(E.value.expert) end
    w.ports = v.ports == 1
  end,
  spth = function(w, v) w:say("source ports from %d of %d", v.first, v.total) end,
}

function Walk:header(key)
  local values, tree = self:take(key)
  if values and SPEAK[key] then SPEAK[key](self, values, tree) end
  return values
end

-- Behind the last header: payload and pad on requests and datagrams, nothing on others, then the ICRC [MRC-WIRE-2..5].
function Walk:body(o)
  local left = self.whole - self.at
  local b = self.bth
  if left < ICRC then return self:refuse(E.no_icrc) end
  local body = left - ICRC
  if o.kind ~= REQUEST and o.kind ~= DATAGRAM then
    -- An endpoint request may be as long as its response, an EV probe as long as a data packet [MRC-EVP-6..7].
    local may_be_padded = b.opcode == 0xD8 and (body == 20 or (body >= 64 and self.op == OP_EV_PROBE))
    if body > 0 and not may_be_padded then
      self:refuse(E.trailing)
    elseif b.pad ~= 0 then
      self:refuse(E.pad)
    elseif o.kind == ENDPOINT and b.dqp ~= ENDPOINT_QPN then
      self:refuse(E.qpn)
    end
  elseif body % 4 ~= 0 or b.pad > body or (b.pad ~= 0 and o.kind == REQUEST and not o.ends) then
    self:refuse(E.pad)
  else
    local n = body - b.pad
    self.tree:add(F.payload_len, n):set_generated()
    if n > 0 and #self.data > self.at then self.tree:add(F.payload, self.tvb(self.at, math.min(n, #self.data - self.at))) end
    if b.pad > 0 and #self.data >= self.at + body then self.tree:add(F.pad, self.tvb(self.at + n, b.pad)) end
    local fits = n == self.dmalen
    if o.kind == REQUEST and not o.only then fits = n > 0 and n < self.dmalen end
    if o.kind == REQUEST and not fits then self:refuse(E.payload) end
  end
  self:trailer()
end

function Walk:trailer()
  if #self.data < self.whole then
    self.tree:add(F.icrc_status, "unverified"):set_generated()
    self.tree:add_proto_expert_info(E.cut.expert)
    return
  end
  local item = self.tree:add_le(F.icrc, self.tvb(self.whole - ICRC, ICRC))
  if not mrc.prefs.check_icrc or not self.flow then
    self.tree:add(F.icrc_status, "unverified"):set_generated()
    return
  end
  local good = icrc_fits(self.flow, self.data, self.whole)
  self.tree:add(F.icrc_computed, icrc(self.flow, self.data, self.whole)):set_generated()
  if self.flow.dst ~= self.flow.sent_to then self.tree:add(F.icrc_dst, address_text(self.flow.dst)):set_generated() end
  self.tree:add(F.icrc_status, good and "good" or "bad"):set_generated()
  if not good then
    item:add_proto_expert_info(E.icrc.expert)
    self:say("[ICRC is wrong]")
  end
end

-- A trimmed packet has BTH, METH and TSETH; what follows is whatever the switch left [MRC-CHOICE-Q24].
function Walk:trimmed_packet(o)
  self.tree:add(F.trimmed, true):set_generated()
  self.tree:add_proto_expert_info(E.trimmed.expert)
  self:say("trimmed")
  if o.name ~= "PROBE" then
    if o.kind ~= REQUEST then return self:refuse(E.not_request) end
    if not self:header("meth") or (self.bth.ts == 1 and not self:header("tseth")) then return end
  end
  if #self.data > self.at then self.tree:add(F.rest, self.tvb(self.at, #self.data - self.at)) end
end

function Walk:packet()
  local bth, tree = self:take("bth")
  if not bth then return end
  self.bth = bth
  local o = OPCODES[bth.opcode]
  self:say("%s qpn=0x%06x psn=%d", o and o.name or ("opcode 0x%02x"):format(bth.opcode), bth.dqp, bth.psn)
  if bth.tver ~= 0 then return self:refuse(E.tver, tree) end
  if not o then return self:refuse(E.opcode, tree) end
  if bth.dqp <= ENDPOINT_QPN and o.kind ~= ENDPOINT then tree:add_proto_expert_info(E.reserved_qpn.expert) end
  if o.kind == REQUEST and bth.rtx == 1 then
    tree:add_proto_expert_info(E.rtx.expert)
    self:say("rtx")
  end
  if self.trimmed then return self:trimmed_packet(o) end
  for _, key in ipairs(o.headers) do
    if (key ~= "tseth" or bth.ts == 1) and not self:header(key) then return end
  end
  if self.ports and not self:header("spth") then return end
  self:body(o)
end

local function show_packet(tvb, whole, flow, root)
  local tree = root:add(mrc, tvb)
  local w = setmetatable({ tvb = tvb, data = tvb:raw(), whole = whole, flow = flow, tree = tree, at = 0, summary = {} }, Walk)
  if flow then
    tree:add(F.ev, flow.v6 and (flow.label % 0x10000) * 0x10000 + flow.src_port or flow.src_port):set_generated()
    if flow.ecn == 3 then tree:add_proto_expert_info(E.marked.expert) end
    w.trimmed = is_trimmed(flow)
  end
  tree:add(F.nominal, whole + UDP_HEADER + 40):set_generated()
  w:packet()
  tree:append_text(": " .. table.concat(w.summary, " "))
  return table.concat(w.summary, " ")
end

-- Entry points -------------------------------------------------------------------------------------------------------------

local function show_datagram(tvb, pinfo, root, flow)
  pinfo.cols.protocol = "MRC"
  local whole = tvb:reported_len()
  local lines, at = {}, 0
  if tvb:len() == whole and flow and mrc.prefs.check_icrc then
    local data = tvb:raw()
    while at < whole do
      local n = packet_bytes(flow, data:sub(at + 1))
      lines[#lines + 1] = show_packet(tvb(at, n), n, flow, root)
      at = at + n
    end
  else
    lines[1] = show_packet(tvb(), whole, flow, root)
  end
  if #lines > 1 then root:add(F.burst, #lines):set_generated() end
  pinfo.cols.info = (#lines > 1 and ("%d packets: "):format(#lines) or "") .. lines[1] .. (#lines > 1 and " ..." or "")
  return whole
end

function mrc.dissector(tvb, pinfo, root) return show_datagram(tvb, pinfo, root, flow_of(pinfo)) end

-- On any other port (process slots, deployments with a port of their own) the ICRC is proof enough.
local function recognised(tvb, pinfo, root)
  local whole = tvb:reported_len()
  if whole < BTH + 4 or tvb:len() ~= whole then return false end
  local o = OPCODES[tvb(0, 1):uint()]
  if not o or tvb(1, 1):bitfield(4, 4) ~= 0 then return false end
  local flow = flow_of(pinfo)
  if not flow then return false end
  local data = tvb:raw()
  if is_trimmed(flow) then  -- no ICRC: code point, opcode and the usual P_Key have to do
    if o.kind ~= REQUEST and o.name ~= "PROBE" or data:sub(3, 5) ~= "\xFF\xFF\0" then return false end
  elseif not icrc_fits(flow, data, packet_bytes(flow, data)) then
    return false
  end
  show_datagram(tvb, pinfo, root, flow)
  return true
end
mrc:register_heuristic("udp", recognised)

local udp_ports = DissectorTable.get("udp.port")
local registered
function mrc.prefs_changed()
  if registered == mrc.prefs.ports then return end
  if registered then udp_ports:remove(registered, mrc) end
  registered = mrc.prefs.ports
  udp_ports:add(registered, mrc)
end
registered = mrc.prefs.ports
udp_ports:add(registered, mrc)

-- On loopback planes and process slots have ports from 20000 on, elsewhere slots from 20001 on. The source port is the EV
-- and may be another protocol's; the lower port is asked first, so MRC has its say there. What it does not recognise goes to
-- whose port that is.
local slots = Proto("mrc_slots", "MRC at the port of a process slot")
local FIRST, LAST = 20000, 32767
local owners = {}
for port = FIRST, LAST do owners[port] = udp_ports:get_dissector(port) end
function slots.dissector(tvb, pinfo, root)
  if recognised(tvb, pinfo, root) then return tvb:reported_len() end
  local owner = owners[pinfo.match_uint]
  return owner and owner:call(tvb, pinfo, root) or 0
end
udp_ports:add(FIRST .. "-" .. LAST, slots)
