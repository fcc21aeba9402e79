#include "sim/fabric/fabric.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "append_item.h"

namespace mrc::sim {
// Out: four links and their serialisation, three switches. Back: a control packet the same way.
Ps FabricSpec::base_rtt() const {
  const double nic = 8.0 * kPsPerSecond / nic_link.rate;
  const double spine = 8.0 * kPsPerSecond / spine_link.rate;
  const bool crosses = t0 > 1;
  const double bytes = full_packet() + kControlBytes + overhead;
  const Ps propagation =
      2 * (2 * nic_link.delay + (crosses ? 2 * spine_link.delay : 0) + (crosses ? 3 : 1) * sw.latency);
  return propagation + static_cast<Ps>(bytes * (2 * nic + (crosses ? 2 * spine : 0)));
}

namespace {

void read_link(const YAML::Node& node, const std::string& what, const Source& source, LinkSpec* link) {
  MapReader m(node, what, source);
  m.rate("rate", &link->rate);
  m.time("delay", &link->delay, 0, kPsPerSecond);
  m.finish();
}

void read_switch(const YAML::Node& node, const Source& source, SwitchSpec* s) {
  MapReader m(node, "switch", source);
  std::string forwarding = "srv6", victim = "arriving";
  m.choice("forwarding", {"srv6", "stev", "ecmp"}, &forwarding);
  s->forwarding = forwarding == "srv6"   ? Forwarding::kSrv6
                  : forwarding == "stev" ? Forwarding::kStev
                                         : Forwarding::kEcmp;
  m.time("latency", &s->latency, 0, kPsPerMs);
  m.flag("trimming", &s->trimming);
  m.integer("trim_bytes", &s->trim_bytes, 64, 1024);
  m.choice("trim_victim", {"arriving", "random"}, &victim);
  s->trim_random = victim == "random";
  m.size("queue", &s->queue);
  m.size("queue_last_hop", &s->queue_last_hop);
  m.size("drop_queue", &s->drop_queue);
  m.size("ecn_min", &s->ecn_min);
  m.size("ecn_max", &s->ecn_max);
  m.number("ecn_share", &s->ecn_share, 0.001, 1.0);
  m.flag("ecn_last_hop", &s->ecn_last_hop);
  m.size("trimmed_queue", &s->trimmed_queue);
  m.number("trimmed_share", &s->trimmed_share, 0.01, 1.0);
  m.size("control_queue", &s->control_queue);
  m.finish();
}

void read_usid(const YAML::Node& node, const Source& source, UsidSpec* u) {
  MapReader m(node, "usid", source);
  std::string block = "fcbb:bb00::";
  m.text("block", &block);
  const auto beyond = [&] {
    return std::any_of(u->block.bytes.begin() + 4, u->block.bytes.end(), [](uint8_t b) { return b != 0; });
  };
  const std::optional<IpAddress> parsed = IpAddress::parse(block);
  if (parsed) u->block = *parsed;
  if (!parsed || u->block.is_v4() || beyond())
    m.bad("block", "an IPv6 address of which only the first 32 bits, the block, are set, such as fcbb:bb00::");
  m.integer("plane_shift", &u->plane_shift, 0, 15);
  m.integer("t0_base", &u->t0_base, 1, 0xFFFF);
  m.integer("t1_base", &u->t1_base, 1, 0xFFFF);
  m.integer("nic_base", &u->nic_base, 1, 0xFFFF);
  m.finish();
}

// The rate of the NICs below a T0 over that of its uplinks: another way to give the uplinks' rate.
void read_oversubscription(MapReader* m, FabricSpec* f) {
  double ratio = 1;
  if (!m->number("oversubscription", &ratio, 0.01, 1000)) return;
  const YAML::Node spine = m->get("spine_link");
  if (spine.IsDefined() && spine.IsMap() && spine["rate"].IsDefined())
    m->bad("oversubscription", "only without the `rate` of spine_link, which says the same");
  f->spine_link.rate = f->nics_per_t0 * f->nic_link.rate / (f->t1 * ratio);
  if (f->spine_link.rate < 1e6 || f->spine_link.rate > 1e14)
    m->bad("oversubscription",
           "a ratio with uplinks from 1 Mb/s to 100 Tb/s; they would be of " + format_rate(f->spine_link.rate));
}

// A queue must hold one packet of its class, or the class has no queue at all.
void check_queues(const FabricSpec& f, const YAML::Node& node, const Source& source) {
  if (!node.IsDefined()) return;
  const auto full = static_cast<int64_t>(f.full_packet());
  const struct {
    const char* key;
    Size size;
    int64_t min;
  } queues[] = {{"queue", f.sw.queue, full},
                {"queue_last_hop", f.sw.queue_last_hop, full},
                {"drop_queue", f.sw.drop_queue, full},
                {"trimmed_queue", f.sw.trimmed_queue, f.sw.trim_bytes},
                {"control_queue", f.sw.control_queue, FabricSpec::kControlBytes + f.overhead}};
  for (const auto& q : queues)
    if (const YAML::Node given = node[q.key]; given.IsDefined() && q.size.bytes(f.plane_bdp()) < q.min)
      refuse_value(source, given, q.key,
                   "room for one packet, at least " + std::to_string(q.min) + " bytes; the plane's " +
                       "bandwidth-delay product is " + format_bytes(f.plane_bdp()));
}

// none, t0, t1, all, or a list of switches by name.
void read_mrc_switch(MapReader* m, const FabricSpec& f, LabSpec* lab) {
  if (m->has("mrc_switch") && m->get("mrc_switch").IsSequence()) {
    m->each("mrc_switch", [&](const YAML::Node& entry) {
      const std::string name = entry.IsScalar() ? entry.Scalar() : "";
      unsigned plane = 0, tier = 0, index = 0;
      char rest = 0;
      if (std::sscanf(name.c_str(), "p%u-t%u-%u%c", &plane, &tier, &index, &rest) != 3 || plane >= f.planes ||
          tier > 1 || index >= (tier == 0 ? f.t0 : f.t1))
        refuse_value(m->source(), entry, "mrc_switch", "none, t0, t1, all, or a list of switches such as [p0-t0-1]");
      lab->mrc_switches.push_back(name);
    });
    return;
  }
  std::string which = "none";
  m->choice("mrc_switch", {"none", "t0", "t1", "all"}, &which);
  lab->mrc_switch_t0 = which == "t0" || which == "all";
  lab->mrc_switch_t1 = which == "t1" || which == "all";
}

// Every plane's uSIDs must fit in 16 bits, and no two roles may share a number.
void check_usids(const FabricSpec& f, const YAML::Node& node, const Source& source) {
  struct Range {
    const char* name;
    uint32_t low, high;
  };
  const Range ranges[] = {{"t0_base", f.usid.t0_base, f.usid.t0_base + f.t0},
                          {"t1_base", f.usid.t1_base, f.usid.t1_base + f.t1},
                          {"nic_base", f.usid.nic_base, f.usid.nic_base + f.nics_per_t0}};
  const uint32_t per_plane = 1u << f.usid.plane_shift;
  for (const Range& r : ranges)
    if (r.high > per_plane)
      refuse(source, node,
             std::string("key '") + r.name + "': its uSIDs end at " + std::to_string(r.high) + ", allowed: below " +
                 std::to_string(per_plane) + " (1 << plane_shift)");
  if (f.planes * per_plane > 0x10000)
    refuse(source, node,
           "key 'plane_shift': " + std::to_string(f.planes) +
               " planes do not fit into 16-bit uSIDs, allowed: at most " +
               std::to_string(0x10000 >> f.usid.plane_shift) + " planes");
  for (const Range& a : ranges)
    for (const Range& b : ranges)
      if (&a != &b && a.low < b.high && b.low < a.high)
        refuse(source, node, std::string("key '") + a.name + "': its uSIDs overlap those of " + b.name);
}

}  // namespace

namespace {

// A new map of the keys of both, those of `over` before those of `base`, map by map; its maps are placed where `over`
// has them.
YAML::Node merged(const YAML::Node& base, const YAML::Node& over, Source* source) {
  YAML::Node all(YAML::NodeType::Map);
  source->add_node(all, source->place(over));
  for (const auto& entry : base) {
    const YAML::Node mine = over[entry.first.Scalar()];
    all[entry.first] = !mine.IsDefined()                      ? entry.second
                       : mine.IsMap() && entry.second.IsMap() ? merged(entry.second, mine, source)
                                                              : mine;
  }
  for (const auto& entry : over)
    if (!base[entry.first.Scalar()].IsDefined()) all[entry.first] = entry.second;
  return all;
}

// Else it is meant as the name of a built-in one.
bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.find('.') != std::string::npos;
}

// The name appears in file names, scripts and configuration of switches.
bool usable_name(const std::string& name) {
  const auto usable = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 64 && name[0] != '.' && std::all_of(name.begin(), name.end(), usable);
}

constexpr int kMaxFiles = 8;  // that name one another

ExpandedFabric load_file(const std::string& file, const std::string& text, const Source& source) {
  ExpandedFabric f{load_yaml(Source{file}, text), source};
  f.source.add_file(f.node, file);
  return f;
}

ExpandedFabric load_builtin(const Builtin& b, const Source& source) {
  return load_file(std::string("builtin:") + b.name, b.yaml, source);
}

ExpandedFabric expand(const YAML::Node& node, const Source& source, const std::string& folder, int files) {
  if (node.IsScalar()) {
    const std::string& name = node.Scalar();
    if (const Builtin* b = find_builtin(name)) return load_builtin(*b, source);
    if (!is_path(name)) refuse_value(source, node, "fabric", builtin_names() + ", the path of a file, or a map");
    if (files == kMaxFiles)
      refuse_value(source, node, "fabric",
                   "a map: " + std::to_string(files) + " files have named one another, probably in a circle");
    const std::string path = name[0] == '/' || folder == "." ? name : folder + "/" + name;
    const ExpandedFabric f = load_file(path, read_file(path), source);
    return expand(f.node, f.source, folder, files + 1);
  }
  if (!node.IsMap())
    refuse_value(source, node, "fabric", "the name of a built-in fabric, the path of a file, or a map");
  if (!node["base"].IsDefined()) return {node, source};
  const Builtin* base = node["base"].IsScalar() ? find_builtin(node["base"].Scalar()) : nullptr;
  if (base == nullptr) refuse_value(source, node["base"], "base", builtin_names());
  ExpandedFabric below = load_builtin(*base, source);
  YAML::Node rest(YAML::NodeType::Map);
  below.source.add_node(rest, source.place(node));
  for (const auto& entry : node)
    if (entry.first.Scalar() != "base") rest[entry.first] = entry.second;
  const YAML::Node all = merged(below.node, rest, &below.source);
  return {all, below.source};
}

}  // namespace

const Builtin* find_builtin(const std::string& name) {
  for (const Builtin& b : builtin_fabrics())
    if (name == b.name) return &b;
  return nullptr;
}

std::string builtin_names() {
  std::string names;
  for (const Builtin& b : builtin_fabrics()) append_item(&names, b.name);
  return names;
}

ExpandedFabric expand_fabric(const YAML::Node& node, const Source& source, const std::string& folder) {
  return expand(node, source, folder, 0);
}

bool FabricSpec::nic_usids_are_unique() const {
  const uint32_t end = usid.nic_base + nics();
  const auto free_of = [&](uint32_t base, uint32_t count) { return end <= base || base + count <= usid.nic_base; };
  return end <= 1u << usid.plane_shift && free_of(usid.t0_base, t0) && free_of(usid.t1_base, t1);
}

FabricSpec read_fabric(const YAML::Node& given, const Source& given_source) {
  const ExpandedFabric expanded = expand_fabric(given, given_source, ".");
  const YAML::Node& node = expanded.node;
  const Source& source = expanded.source;
  FabricSpec f;
  MapReader m(node, "fabric", source);
  std::string ignored;
  m.text("name", &f.name);
  if (!usable_name(f.name)) m.bad("name", "letters, digits, '_', '-' and '.', at most 64, not a dot first");
  m.text("about", &ignored);
  m.integer("planes", &f.planes, 1, 16);
  m.integer("t0", &f.t0, 1, 4096);
  m.integer("t1", &f.t1, 1, 4096);
  m.integer("nics_per_t0", &f.nics_per_t0, 1, 4096);
  read_link(m.get("nic_link"), "nic_link", source, &f.nic_link);
  f.spine_link = f.nic_link;
  read_link(m.get("spine_link"), "spine_link", source, &f.spine_link);
  read_oversubscription(&m, &f);
  m.integer("overhead", &f.overhead, 8, 512);
  if (m.integer("mtu", &f.mtu, 256, 8192) && f.mtu % 4 != 0) m.bad("mtu", "a multiple of 4 from 256 to 8192");
  read_switch(m.get("switch"), source, &f.sw);
  read_usid(m.get("usid"), source, &f.usid);
  {
    MapReader ev(m.get("ev"), "ev", source);
    ev.integer("count", &f.ev.count, 1, 4096);
    ev.integer("backups", &f.ev.backups, 0, 4096);
    ev.finish();
  }
  {
    MapReader lab(m.get("lab"), "lab", source);
    lab.number("rate_scale", &f.lab.rate_scale, 1e-6, 1000);
    lab.integer("link_mtu", &f.lab.link_mtu, 1280, 65535);
    lab.bytes("queue", &f.lab.queue, 16384, int64_t{1} << 30);
    read_mrc_switch(&lab, f, &f.lab);
    lab.finish();
  }
  m.finish();
  check_usids(f, node, source);
  check_queues(f, m.get("switch"), source);
  const double bdp = f.plane_bdp();
  if (f.sw.ecn_min.bytes(bdp) > f.sw.ecn_max.bytes(bdp))
    refuse(source, node, "key 'ecn_min': allowed: at most ecn_max");
  if (f.ev.count < f.planes && f.ev.count != 1)
    refuse(source, node,
           "key 'count': value is " + std::to_string(f.ev.count) + ", allowed: 1, or at least one EV per plane, " +
               std::to_string(f.planes));
  return f;
}

FabricSpec load_fabric(const std::string& name_or_path) {
  if (find_builtin(name_or_path) == nullptr && !is_path(name_or_path))
    throw ConfigError("fabric '" + name_or_path + "' is not built in; allowed: " + builtin_names() +
                      ", or the path of a file");
  return read_fabric(YAML::Node(name_or_path), Source{name_or_path});
}

}  // namespace mrc::sim
