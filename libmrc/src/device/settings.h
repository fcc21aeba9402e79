// Every setting of the software, declared once: name, type, default, range or allowed words, unit and sentence. Parser,
// messages, `mrc-info --params`, JSON and spec/settings.md come from this table.
//
// The environment name is MRC_ and the name in capitals. Precedence: environment, then the device's entry in the file,
// then the file's top level, then the default.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mrc::device {

// clang-format off
// INT(name, default, least, most, unit, sentence)   REAL likewise   FLAG(name, default, sentence)
// WORD(name, default, "allowed words", unit, sentence)              TEXT(name, default, sentence)
#define MRC_SETTINGS(INT, REAL, FLAG, WORD, TEXT)                                                                       \
  WORD(log, "error", "off error warn info debug", "", "Least severity of what is written to stderr")                    \
  TEXT(fault, "", "Faults injected into what this process sends, see mrc-info --help; empty: none")                     \
  TEXT(publish, "/tmp", "Folder below which a process lets its user read its counters, see mrc-info --stats; empty: none") \
  TEXT(trace, "", "File for the engine's events, see mrclog --help; %p is the process, %d the device, a folder gets mrc-%p-%d.sqlog; empty: none") \
  TEXT(ctl_group, "", "Unix group, name or number, whose members may use the controller functions beside those with CAP_NET_ADMIN; empty: none") \
  TEXT(mrcd_socket, "/run/mrc/mrcd.sock", "Unix socket of mrcd, which holds what the processes of a host share; @NAME: in the abstract namespace of the network namespace; empty: no daemon") \
  TEXT(mrcd_state, "/var/lib/mrc/mrcd.json", "File in which mrcd remembers profiles, denied paths and port states over a restart") \
  TEXT(mrcd_http, "127.0.0.1:9417", "ADDRESS:PORT of mrcd's web page, metrics and health; empty: none") \
  TEXT(mrcd_token, "", "What somebody must know who sees single processes or changes something by mrcd's web page; empty: nobody") \
  REAL(mrcd_probe_rate, 0, 0, 100000, "1/s", "Probes of each path that mrcd sends to the switches and back, with ev_mode srv6 and srv6_loop; 0: mrcd does not watch the fabric") \
  REAL(mrcd_probe_share, 1, 0, 1, "", "Part of the T1s that mrcd of this host probes; hosts below one T0 share the work") \
  REAL(mrcd_probe_loss, 0.02, 0.001, 1, "", "Part of its probes that a path must lose before mrcd takes it for bad") \
  TEXT(mrcd_peers, "", "ADDRESSes of hosts whose mrcd is told what this one sees, with spaces or commas between; empty: nobody") \
  INT(mrcd_peer_port, 9418, 1, 65535, "", "UDP port on which the mrcds of different hosts tell each other what they see") \
  INT(seed, 0, 0, INT64_MAX, "", "Seed of everything the engine draws; 0: a new one at every start")                    \
  WORD(datapath, "udp", "udp raw dpdk", "", "udp: the kernel's sockets; raw: whole frames, with SRv6 by encapsulation (IPv6, CAP_NET_RAW); dpdk: such frames over DPDK ports") \
  WORD(same_host, "memory", "memory network", "", "How packets pass to processes of the same user, host and network namespace, with datapath udp: through shared memory, or as to any other host") \
  WORD(raw_io, "auto", "auto xdp packet", "", "How whole frames pass, with datapath raw: AF_XDP (CAP_NET_ADMIN, CAP_BPF), AF_PACKET, or auto: AF_XDP where it can be had") \
  TEXT(dpdk_ports, "", "DPDK port of each plane, ';' between: PCI address, port name or device arguments such as net_memif0,role=client") \
  TEXT(dpdk_gateway, "", "Next hop of frames on DPDK ports, one for all planes or one for each, ';' between: IPv6 or MAC address, or link: the peers are on the link; empty: link") \
  TEXT(dpdk_eal, "--no-huge --no-shconf --no-pci --no-telemetry -m 512 --log-level=4", "Arguments with which DPDK starts; for network cards: huge pages and -a PCI-ADDRESS instead of --no-huge and --no-pci") \
  INT(dpdk_mtu, 0, 0, 65000, "bytes", "Largest IPv6 packet on DPDK ports; 0: what the port says")                       \
  FLAG(dpdk_checksum, true, "UDP checksums on DPDK ports, computed by the port where it can, else in software; false: 0") \
  INT(dpdk_poll_us, 20, 1, 1000000, "us", "Longest time without a look at DPDK ports while the application does not poll") \
  TEXT(dpdk_module, "", "File of the DPDK datapath; empty: libmrc-dpdk.so beside libmrc.so, else where the linker looks") \
  WORD(ev_mode, "udp_port", "udp_port structured srv6", "", "What carries the entropy value: the UDP source port (16 bit), port and IPv6 flow label (32 bit), or these and the switches of an SRv6 path") \
  TEXT(srv6_paths, "", "Switches on the way, with ev_mode srv6: 'PREFIX/LENGTH via USID:USID...' or 'PREFIX/LENGTH direct', one a line or ';' between; {plane} and {uplink} are filled in, see spec/srv6.md") \
  INT(srv6_uplinks, 1, 1, 1024, "", "{uplink} in srv6_paths and srv6_loop runs from 1 to this number")                  \
  TEXT(srv6_loop, "", "'USID:USID...', or lines as in srv6_paths, through the fabric back to this host, tried at start: where UDP checksums survive it, segmentation offload is used; empty: packet by packet") \
  FLAG(watch_links, true, "Leave a plane at once, and tell the peers, when its interface loses its link")                \
  INT(ev_count, 64, 1, 1024, "EVs", "Entropy values in the active set towards each peer, spread equally over the planes") \
  INT(ev_backups, 16, 0, 1024, "EVs", "Entropy values held back to replace bad ones")                                   \
  INT(ev_min_active, 0, 0, 1024, "EVs", "Least number of active entropy values that single losses may leave; 0: a quarter on the planes in use") \
  WORD(mtu, "4096", "256 512 1024 2048 4096 8192", "bytes", "Largest path MTU offered; lowered to what all planes carry. 8192 is an extension") \
  INT(port, 4791, 1, 65535, "", "UDP port that process slot 0 and real NICs listen on")                                  \
  INT(second_port, 4971, 0, 65535, "", "UDP port that process slot 0 also receives on where it is free: some deployments use 4971; 0: none") \
  INT(port_base, 20000, 1024, 64000, "", "Process slot k > 0 listens on port_base + 1024 * (plane - 1) + k")            \
  INT(dscp_no_trim, 0, 0, 63, "", "DSCP of data that switches must not trim")                                           \
  INT(dscp_trimmable, 4, 0, 63, "", "DSCP of data that switches may trim")                                              \
  INT(dscp_trimmable_retx, 8, 0, 63, "", "DSCP of retransmitted data that switches may trim")                           \
  INT(dscp_trimmed, 12, 0, 63, "", "DSCP that switches give to trimmed packets")                                        \
  INT(dscp_trimmed_lasthop, 16, 0, 63, "", "DSCP that the last switch gives to trimmed packets")                        \
  INT(dscp_control, 46, 0, 63, "", "DSCP of SACK, NACK, ACK and probe packets")                                         \
  FLAG(trimming, false, "The fabric trims packets: mark data as trimmable")                                             \
  FLAG(icrc, true, "Compute and check the ICRC of every packet")                                                        \
  FLAG(timestamps, true, "Put a timestamp header into every data packet")                                               \
  INT(burst_packets, 15, 1, 64, "packets", "Packets that leave together on one path")                                   \
  INT(burst_bytes, 64000, 1024, 65000, "bytes", "UDP payload that leaves together on one path")                         \
  INT(sack_bytes, 65536, 4096, 16777216, "bytes", "A SACK is sent at the latest after so many received bytes")          \
  INT(ack_delay_us, 15, 0, 100000, "us", "Longest time that a SACK or ACK waits for company")                           \
  INT(reorder_floor_us, 20, 0, 1000000, "us", "A packet counts as lost when a packet sent at least this much later has arrived") \
  INT(probe_floor_us, 500, 10, 10000000, "us", "Earliest reliability probe after silence")                              \
  INT(ev_probe_interval_ms, 50, 1, 60000, "ms", "Time between probes of a path that is assumed bad")                    \
  FLAG(hold_without_recv, true, "Hold a write with immediate until a receive is posted; false: refuse it and fail the QP") \
  INT(mpr, 32, 1, 255, "128 PSNs", "Window of packet sequence numbers of a QP that sets none, both directions")         \
  FLAG(dynamic_mpr, false, "Follow the window that the peer announces")                                                 \
  INT(max_wimm, 128, 1, 65535, "", "Writes with immediate in flight of a QP that sets none, both directions")           \
  FLAG(trim_nack, true, "The peers answer trimmed packets with a NACK")                                                 \
  INT(timeout, 14, 0, 24, "", "Packet timeout of a QP that sets none: 1.024 us * 2^timeout")                            \
  INT(retry_linear, 7, 0, 7, "", "Timeouts of equal length before they grow, of a QP that sets none")                   \
  INT(retry_exp, 15, 0, 25, "", "Timeouts of doubling length (17 s at most), of a QP that sets none; 15: fails after two minutes of silence; 25: never") \
  WORD(congestion_control, "nscc", core::congestion_algorithm_names(), "", "Congestion control of QPs without a CC profile (spec/congestion.md); none: the window is limited by mpr alone") \
  REAL(line_rate_gbps, 0, 0, 10000, "Gb/s", "Rate of all planes together, the lesser of both ends; 0: that of the planes' network cards where all have one, else measured") \
  REAL(base_rtt_us, 0, 0, 1000000, "us", "Round trip of one packet over the longest path when nothing else moves; 0: measured") \
  TEXT(congestion_parameters, "", "Parameters of congestion_control, NAME=VALUE with spaces or commas between, times with their unit: gamma=0.5 target_delay=15us; spec/congestion.md has them; empty: the defaults") \
  REAL(host_jitter_us, 150, 0, 1000000, "us", "Delay that comes from the hosts' own scheduling: congestion control aims at no less") \
  INT(max_qps, 65532, 1, 65532, "QPs", "QPs of this process on one device")                                             \
  WORD(gso, "auto", "auto on off", "", "UDP segmentation offload; auto: what a self-test finds; on: with SRv6 also says that UDP checksums survive the fabric") \
  WORD(gro, "auto", "auto on off", "", "UDP receive offload; auto: what a self-test finds")                             \
  INT(rcvbuf, 8388608, 65536, 1073741824, "bytes", "Receive buffer wanted per plane; may need net.core.rmem_max")       \
  INT(sndbuf, 4194304, 65536, 1073741824, "bytes", "Send buffer wanted per entropy value; may need net.core.wmem_max")  \
  INT(rx_buffers, 4, 1, 256, "64 KiB", "Received bursts that are taken from the kernel at once")                        \
  INT(helper_idle_us, 500, 1, 1000000, "us", "The helper thread leaves an application alone that polled so recently")   \
  INT(helper_park_us, 500, 10, 1000000, "us", "How long the helper thread sleeps while the application polls")          \
  INT(helper_spin_us, 10, 0, 1000000, "us", "How long the helper thread looks for more before it sleeps")               \
  INT(linger_ms, 200, 0, 60000, "ms", "Longest time that closing answers peers which still send")                       \
  INT(linger_quiet_ms, 20, 0, 60000, "ms", "Closing ends when nothing has arrived for so long; peers that lost answers ask again after 32 ms at the latest: 100, with linger_ms 1000, where much is lost")
// clang-format on

// The values.
struct Settings {
#define MRC_SETTING_INT(name, value, ...) int64_t name = value;
#define MRC_SETTING_REAL(name, value, ...) double name = value;
#define MRC_SETTING_FLAG(name, value, ...) bool name = value;
#define MRC_SETTING_TEXT(name, value, ...) std::string name = value;
  MRC_SETTINGS(MRC_SETTING_INT, MRC_SETTING_REAL, MRC_SETTING_FLAG, MRC_SETTING_TEXT, MRC_SETTING_TEXT)
#undef MRC_SETTING_INT
#undef MRC_SETTING_REAL
#undef MRC_SETTING_FLAG
#undef MRC_SETTING_TEXT
  // Where a value that is not the default was set, to say so when it does not go with another one:
  // "f.yaml:3: key 'ev_count'" or "environment: MRC_EV_COUNT".
  std::map<std::string, std::string> origins;
};

enum class SettingType : uint8_t { kInt, kReal, kFlag, kWord, kText };

struct Setting {
  const char* name = "";
  std::string environment;
  SettingType type = SettingType::kText;
  double least = 0, most = 0;           // kReal
  int64_t int_least = 0, int_most = 0;  // kInt
  std::vector<std::string> words;       // kWord
  const char* unit = "";
  const char* sentence = "";
  // Exactly one is set.
  int64_t Settings::*int_value = nullptr;
  double Settings::*real_value = nullptr;
  bool Settings::*flag_value = nullptr;
  std::string Settings::*text_value = nullptr;

  // "1..1024 EVs", "auto, on or off", "true or false", "text".
  std::string allowed() const;
  std::string show(const Settings& settings) const;
};

const std::vector<Setting>& setting_table();
const Setting* find_setting(const std::string& name);
// Settings that earlier versions had. `now` is what stands for one, as a key with its value.
struct FormerSetting {
  const char* name;
  const char* environment;
  const char* now;
};
const std::vector<FormerSetting>& former_settings();

// Sets one value from text. False: *why is "value is X, allowed: Y" with the table's range; settings untouched.
bool set_setting(const Setting& setting, const std::string& text, Settings* settings, std::string* why);

std::string settings_json(const Settings& current);  // all of the table with current values
std::string settings_markdown();                     // spec/settings.md
std::string settings_help();                         // for a terminal

}  // namespace mrc::device
