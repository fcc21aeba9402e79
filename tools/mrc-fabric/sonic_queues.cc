#include "sonic_queues.h"

#include <algorithm>
#include <cmath>

namespace mrc::fabric {
namespace {

using sim::SwitchSpec;

// Trimming is by queue, so data that must not be trimmed has another one [MRC-SONIC-3].
constexpr int kOtherQueue = 0, kDataQueue = 3, kTrimmedQueue = 6, kControlQueue = 7;
// Traffic classes have the number of their queue, but for packets that arrive trimmed: the port that they leave by
// rewrites the DSCP of the class that trimming uses, so they have a class of their own [MRC-SONIC-4].
constexpr int kTrimmedUpstream = 5;
constexpr const char* kMap = "MRC";
constexpr const char* kFabric = "MRC_FABRIC";
constexpr const char* kLastHop = "MRC_LAST_HOP";
constexpr const char* kPool = "egress_lossy_pool";  // the name that platforms give it as well
// What SONiC's trimming accepts [MRC-SONIC-2].
constexpr int64_t kMinTrimBytes = 256, kTrimUnit = 4;

std::string queue_key(const std::string& port, int queue) {
  return port + "|" + std::to_string(queue);
}

void add_classes(const DscpPlan& dscp, SonicDb* db) {
  const auto dscp_to_tc = [&](int value, int tc, const char* why) {
    db->set("DSCP_TO_TC_MAP", kMap, std::to_string(value), tc, why);
  };
  dscp_to_tc(dscp.no_trim, kOtherQueue, "dscp_no_trim: data that a switch must drop rather than trim");
  dscp_to_tc(dscp.trimmable, kDataQueue, "dscp_trimmable: data");
  dscp_to_tc(dscp.trimmable_retx, kDataQueue, "dscp_trimmable_retx: data that is sent again");
  dscp_to_tc(dscp.trimmed, kTrimmedUpstream, "dscp_trimmed: arrives trimmed; keeps its mark on every port");
  dscp_to_tc(dscp.trimmed_last_hop, kTrimmedQueue, "dscp_trimmed_lasthop");
  dscp_to_tc(dscp.control, kControlQueue, "dscp_control: SACK, NAK, probes");
  const auto tc_to_queue = [&](int tc, int queue, const char* why) {
    db->set("TC_TO_QUEUE_MAP", kMap, std::to_string(tc), queue, why);
  };
  tc_to_queue(kOtherQueue, kOtherQueue, "also every DSCP that the map above does not name");
  tc_to_queue(kDataQueue, kDataQueue, "the only queue that is trimmed");
  tc_to_queue(kTrimmedUpstream, kTrimmedQueue, "packets that arrive trimmed share the queue of those trimmed here");
  tc_to_queue(kTrimmedQueue, kTrimmedQueue, "packets trimmed here");
  tc_to_queue(kControlQueue, kControlQueue, "acknowledgements wait for no data");
}

void add_schedulers(const SwitchSpec& sw, SonicDb* db) {
  const int share = static_cast<int>(std::lround(sw.trimmed_share * 100));
  db->set("SCHEDULER", "MRC_DATA", "type", "DWRR", "data yields to control and shares with trimmed packets");
  db->set("SCHEDULER", "MRC_DATA", "weight", std::max(1, 100 - share), "what trimmed_share leaves");
  db->set("SCHEDULER", "MRC_TRIMMED", "type", "DWRR", "a share and not all: a flood of trimmed packets leaves room");
  db->set("SCHEDULER", "MRC_TRIMMED", "weight", share, "trimmed_share of the fabric file");
  db->set("SCHEDULER", "MRC_CONTROL", "type", "STRICT", "always first");
}

void add_marking(const SwitchSpec& sw, double bdp, SonicDb* db) {
  const auto set = [&](const char* field, const std::string& value, const char* why) {
    db->set("WRED_PROFILE", "MRC_ECN", field, value, why);
  };
  set("ecn", "ecn_all", "ECN-capable packets are marked instead of dropped");
  set("wred_green_enable", "true", "green is the colour of all packets that no policer has coloured");
  set("green_min_threshold", std::to_string(sw.ecn_min.bytes(bdp)), "ecn_min: bytes in the queue where marking begins");
  set("green_max_threshold", std::to_string(sw.ecn_max.bytes(bdp)), "ecn_max: bytes where every packet is marked");
  set("green_drop_probability", std::to_string(std::max(1l, std::lround(sw.ecn_share * 100))),
      "ecn_share: percent at the upper threshold");
}

struct Profile {
  const char* name;
  int64_t bytes;
  bool trim;
  const char* why;  // of the limit
};

// [MRC-SONIC-5]
void add_buffers(const SwitchSpec& sw, double bdp, SonicDb* db) {
  db->set("BUFFER_POOL", kPool, "type", "egress", "the limits below are those of egress queues");
  db->set("BUFFER_POOL", kPool, "mode", "static", "limits in bytes; the size of the pool is the platform's");
  const Profile profiles[] = {
      {kFabric, (sw.trimming ? sw.queue : sw.drop_queue).bytes(bdp), sw.trimming,
       "queue (without trimming drop_queue): bytes of data on a port to a switch"},
      {kLastHop, (sw.trimming ? sw.queue_last_hop : sw.drop_queue).bytes(bdp), sw.trimming,
       "queue_last_hop (without trimming drop_queue): bytes of data on a port to a host"},
      {"MRC_OTHER", sw.drop_queue.bytes(bdp), false, "drop_queue: bytes of data that is not trimmed"},
      {"MRC_TRIMMED", sw.trimmed_queue.bytes(bdp), false, "trimmed_queue: bytes of trimmed packets"},
      {"MRC_CONTROL", sw.control_queue.bytes(bdp), false, "control_queue: bytes of control packets"},
  };
  for (const Profile& p : profiles) {
    db->set("BUFFER_PROFILE", p.name, "pool", kPool, "lossy: MRC needs no PFC");
    db->set("BUFFER_PROFILE", p.name, "size", "0", "nothing is reserved");
    db->set("BUFFER_PROFILE", p.name, "static_th", p.bytes, p.why);
    db->set("BUFFER_PROFILE", p.name, "packet_discard_action", p.trim ? "trim" : "drop",
            p.trim ? "what the limit refuses is trimmed" : "what the limit refuses is lost");
  }
}

// Asymmetric: the port that a packet leaves by decides the mark, so that a receiver can tell an overload of its own
// link from one in the fabric [MRC-SONIC-1].
void add_trimming(const SwitchSpec& sw, const DscpPlan& dscp, SonicDb* db) {
  const int64_t size = std::max(kMinTrimBytes, (int64_t{sw.trim_bytes} + kTrimUnit - 1) / kTrimUnit * kTrimUnit);
  db->set("SWITCH_TRIMMING", "GLOBAL", "size", size,
          size == sw.trim_bytes ? "trim_bytes" : "trim_bytes, raised to what SONiC accepts: 256 or more, by fours");
  db->set("SWITCH_TRIMMING", "GLOBAL", "dscp_value", "from-tc", "the mark depends on the port: see TC_TO_DSCP_MAP");
  db->set("SWITCH_TRIMMING", "GLOBAL", "tc_value", kTrimmedQueue, "the class of packets trimmed here");
  db->set("SWITCH_TRIMMING", "GLOBAL", "queue_index", kTrimmedQueue, "the queue of trimmed packets");
  const std::string own = std::to_string(kTrimmedQueue), upstream = std::to_string(kTrimmedUpstream);
  db->set("TC_TO_DSCP_MAP", kFabric, upstream, dscp.trimmed, "trimmed before: the mark stays");
  db->set("TC_TO_DSCP_MAP", kFabric, own, dscp.trimmed, "trimmed here, on a port to a switch: dscp_trimmed");
  db->set("TC_TO_DSCP_MAP", kLastHop, upstream, dscp.trimmed, "trimmed before: the mark stays");
  db->set("TC_TO_DSCP_MAP", kLastHop, own, dscp.trimmed_last_hop,
          "trimmed here, on a port to a host: dscp_trimmed_lasthop");
}

void add_port(const SwitchSpec& sw, const std::string& port, bool last_hop, SonicDb* db) {
  db->set("PORT_QOS_MAP", port, "dscp_to_tc_map", kMap, "class of what arrives");
  db->set("PORT_QOS_MAP", port, "tc_to_queue_map", kMap, "queue of what leaves");
  if (sw.trimming)
    db->set("PORT_QOS_MAP", port, "tc_to_dscp_map", last_hop ? kLastHop : kFabric,
            last_hop ? "leads to a host" : "leads to a switch");
  const std::string where = last_hop ? "port to a host" : "port to a switch";
  const bool marks = !last_hop || sw.ecn_last_hop;
  const auto queue = [&](int number, const char* scheduler, const char* profile, bool marked, const std::string& what) {
    db->set("QUEUE", queue_key(port, number), "scheduler", scheduler, what);
    if (marked) db->set("QUEUE", queue_key(port, number), "wred_profile", "MRC_ECN", "marks, " + where);
    db->set("BUFFER_QUEUE", queue_key(port, number), "profile", profile, what + ", " + where);
  };
  queue(kOtherQueue, "MRC_DATA", "MRC_OTHER", marks, "data that is not trimmed");
  queue(kDataQueue, "MRC_DATA", last_hop ? kLastHop : kFabric, marks, "data");
  queue(kTrimmedQueue, "MRC_TRIMMED", "MRC_TRIMMED", false, "trimmed packets");
  queue(kControlQueue, "MRC_CONTROL", "MRC_CONTROL", false, "control packets");
}

}  // namespace

void add_queues(const FabricSpec& spec, const NodeConfig& node, const std::map<std::string, std::string>& names,
                SonicDb* db) {
  const DscpPlan dscp;
  const double bdp = spec.plane_bdp();
  add_classes(dscp, db);
  add_schedulers(spec.sw, db);
  add_marking(spec.sw, bdp, db);
  add_buffers(spec.sw, bdp, db);
  if (spec.sw.trimming) add_trimming(spec.sw, dscp, db);
  for (const InterfaceConfig& i : node.interfaces)
    add_port(spec.sw, names.at(i.name), node.id.role == Role::kT0 && i.name[0] == 'h', db);
}

}  // namespace mrc::fabric
