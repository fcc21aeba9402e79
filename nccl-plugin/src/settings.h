// Every setting of the plugin, declared once: member, environment name, second name, default, range, unit and sentence.
// Parser, messages and nccl-plugin/SETTINGS.md come from this table. A second name is the one under
// which other plugins have the same setting; the first name takes precedence, so that a job that also runs over
// InfiniBand can have a value for this plugin alone.
//
// Settings of the transport itself (MRC_*) are libmrc's and are listed in spec/settings.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mrc::nccl {

// clang-format off
// INT(member, name, second name, default, min, max, unit, sentence)    TEXT(member, name, second name, default, allowed words or "", sentence)
#define NCCL_MRC_SETTINGS(INT, TEXT)                                                                                    \
  TEXT(hca, "NCCL_MRC_HCA", "", "", "", "Devices to use: names separated by commas; each stands for all devices whose names begin with it, after a leading = for exactly itself; a leading ^ means all but these") \
  INT(join_without_pci, "NCCL_MRC_JOIN_WITHOUT_PCI", "", 0, 0, 1, "", "1: devices without a PCI path may be joined into virtual ones. NCCL 2.28.9 considers such devices ports of one card, joins them, and then finds no network; 0 prevents that") \
  INT(gid_index, "NCCL_MRC_GID_INDEX", "NCCL_IB_GID_INDEX", -1, -1, 255, "", "Entry of the device's GID table; -1: 3 where it is usable, else the first that is") \
  INT(timeout, "NCCL_MRC_TIMEOUT", "", 14, 0, 24, "", "Time after which a packet without an answer is retransmitted: 1.024 us * 2^timeout") \
  INT(retry_linear, "NCCL_MRC_RETRY_CNT_LINEAR", "", 7, 0, 7, "", "Number of retransmissions at that interval") \
  INT(retry_exp, "NCCL_MRC_RETRY_CNT_EXP", "", 9, 0, 25, "", "Number of retransmissions at doubling intervals after them, then the request fails with ncclRemoteError; 25: for ever. With the defaults that is after 17 s; a connection that only waits fails NCCL_MRC_KEEPALIVE later") \
  INT(peer_timeout_ms, "NCCL_MRC_PEER_TIMEOUT_MS", "", 1000, 0, 3600000, "ms", "When the peer's process has ended or closed the connection, requests may still complete for this time; then they fail with ncclRemoteError") \
  INT(keepalive_s, "NCCL_MRC_KEEPALIVE", "", 10, 0, 32767, "s", "A connection without a completion for this time writes zero bytes to the peer: where its host has failed, that write exceeds its retransmissions, and the connection fails; 0: never") \
  INT(setup_timeout_s, "NCCL_MRC_SETUP_TIMEOUT", "", 300, 1, 86400, "s", "Maximum time from the first connect call until the peer has accepted") \
  INT(identification_timeout_ms, "NCCL_MRC_HELLO_TIMEOUT_MS", "", 60000, 1, 3600000, "ms", "A connection to the listening port that has not identified itself within this time is closed") \
  TEXT(socket_ifname, "NCCL_SOCKET_IFNAME", "", "", "", "Interface of the set-up sockets: prefixes separated by commas, = in front: exact names, ^ in front: all but these; empty: ib*, then any but docker*, lo* and virbr*, then those in this order") \
  TEXT(socket_family, "NCCL_SOCKET_FAMILY", "", "", "AF_INET AF_INET6", "Address family of the set-up sockets; empty: either") \
  TEXT(gpu, "NCCL_MRC_GPU", "", "auto", "auto gdrcopy dmabuf off", "Registration of GPU memory, which received data are then written to directly: auto: by gdrcopy if libgdrapi.so.2 and its kernel module are there, else not at all; gdrcopy: as auto, but its absence is a warning; dmabuf: by mapping dma-bufs for the CPU, which few drivers can, and which fails only when NCCL registers memory; off: NCCL stages through host memory. With it, NCCL_NET_GDR_READ becomes 0 unless it is set, because the CPU reads from a GPU slowly") \
  INT(qps, "NCCL_MRC_QPS_PER_CONNECTION", "NCCL_IB_QPS_PER_CONNECTION", 1, 1, 128, "QPs", "Queue pairs of a connection, per device. One QP uses all paths already, so that more of them add cost and rarely throughput") \
  INT(split, "NCCL_MRC_SPLIT_DATA_ON_QPS", "NCCL_IB_SPLIT_DATA_ON_QPS", 0, 0, 1, "", "1: large messages are split over all QPs of the connection; 0: messages take the QPs in turn. Messages of a connection over several devices are always split") \
  INT(split_bytes, "NCCL_MRC_SPLIT_BYTES", "", 131072, 4096, 1073741824, "bytes", "Messages below this size are not split") \
  INT(traffic_class, "NCCL_MRC_TC", "NCCL_IB_TC", 0, 0, 255, "", "Traffic class of data packets (DSCP in the upper six bits) when the communicator sets none; 0: the device's configured value. The sender of a connection chooses it for both sides") \
  INT(hints, "NCCL_MRC_QP_HINT_ENABLE", "", 1, 0, 1, "", "Pass the numbers of peers and flows that NCCL expects to the device, as a QP hint") \
  INT(cc_init_rate, "NCCL_MRC_CC_INIT_RATE", "", 0, 0, 10000000, "Mb/s", "Rate at which a QP starts: accepted with a warning, without effect. Congestion control here has no rate per QP but a window, which starts at its maximum") \
  INT(cc_min_rate, "NCCL_MRC_CC_MIN_RATE", "NCCL_MRC_CC_MIN", 0, 0, 10000000, "Mb/s", "Minimum rate of a QP: accepted with a warning, without effect") \
  INT(cc_max_rate, "NCCL_MRC_CC_MAX_RATE", "NCCL_MRC_CC_MAX", 0, 0, 10000000, "Mb/s", "Maximum rate of a QP: accepted with a warning, without effect. A device has MRC_LINE_RATE_GBPS, the rate of all planes, and MRC_CONGESTION_PARAMETERS with max_cwnd, the largest window")
// clang-format on

struct Settings {
#define NCCL_MRC_INT(member, name, second, value, ...) int64_t member = value;
#define NCCL_MRC_TEXT(member, name, second, value, ...) std::string member = value;
  NCCL_MRC_SETTINGS(NCCL_MRC_INT, NCCL_MRC_TEXT)
#undef NCCL_MRC_INT
#undef NCCL_MRC_TEXT
};

struct Setting {
  const char* name;
  const char* second;  // "" where there is none
  int64_t Settings::*number = nullptr;
  std::string Settings::*text = nullptr;
  int64_t min = 0, max = 0;
  const char* unit = "";     // of a number
  const char* allowed = "";  // allowed words of a text, "": any
  const char* sentence;
};

const std::vector<Setting>& setting_table();

// From the environment. A value that is not allowed is reported and the default is used, as NCCL does with its
// own. Complaints: one sentence each.
Settings settings_from_environment(std::vector<std::string>* complaints);

// The variables NCCL_MRC_* that are no setting, misspelt ones for example. One sentence each.
std::vector<std::string> unread_variables(const char* const* environment);

std::string settings_markdown();  // nccl-plugin/SETTINGS.md

}  // namespace mrc::nccl
