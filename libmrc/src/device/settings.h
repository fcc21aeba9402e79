// Every setting of libmrc, declared once: name, type, default, range or allowed words, unit and sentence. Parser,
// messages, `mrc-info --params`, JSON and spec/settings.md come from this table. Those that only mrcd reads are in
// tools/mrcd/settings.h.
//
// The environment name is MRC_ and the name in capitals. Precedence: environment, then the device's entry in the file,
// then the file's top level, then the default.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/types.h"
#include "datapath/raw/raw_datapath.h"
#include "datapath/udp/udp_datapath.h"
#include "device/setting_keys.h"
#include "device/setting_table.h"
#include "device/setting_words.h"
#include "result.h"

namespace mrc::device {

// clang-format off
// INT(name, default, min, max, unit, sentence)   REAL likewise   FLAG(name, default, sentence)
// INT(name, default, min, max, unit, sentence, word): the word is another way to write 0
// WORD(name, enum of setting_words.h, default, unit, sentence)      TEXT(name, default, sentence)
// NAME(name, default, names as text, unit, sentence): a word whose allowed values another table has
#define MRC_SETTINGS(INT, REAL, FLAG, WORD, NAME, TEXT)                                                                       \
  WORD(log, LogLevel, kError, "", "Lowest severity of messages written to stderr")                    \
  TEXT(interfaces, "", "Interfaces of which each is a plane where no file names planes: auto: all that are up and have an address which other hosts reach; or a list as NCCL_SOCKET_IFNAME has it: prefixes, '=' before exact names, '^' before those to leave out. Hosts must be in the same networks, in whose order planes are numbered; empty: loopback") \
  TEXT(fault, "", "Faults injected into the packets that this process sends, see mrc-info --help; empty: none")                     \
  TEXT(publish, "/tmp", "Folder below which a process publishes its counters to its user, see mrc-info --stats; empty: none") \
  TEXT(trace, "", "File for the engine's trace events, see mrclog --help; %p: process, %d: device; in a folder the file is mrc-%p-%d.sqlog; empty: none") \
  TEXT(ctl_group, "", "Unix group, name or number, whose members may use the controller functions in addition to processes with CAP_NET_ADMIN; empty: none") \
  TEXT(mrcd_socket, "/run/mrc/mrcd.sock", "Unix socket of mrcd, which keeps the state shared by the processes of a host; @NAME: in the abstract namespace of the network namespace; empty: no daemon") \
  INT(seed, 0, 0, INT64_MAX, "", "Seed of the engine's random numbers, the numbers of its QPs among them: for runs that are repeated, not for several devices at once; 0: a new one at every start")                    \
  WORD(datapath, DatapathKind, kUdp, "", "udp: kernel UDP sockets; raw: complete frames, with SRv6 by encapsulation (IPv6, CAP_NET_RAW); dpdk: such frames over DPDK ports") \
  WORD(same_host, SameHost, kMemory, "", "Transport between processes of the same user, host and network namespace, with datapath udp: shared memory, or the network as to any other host") \
  WORD(raw_io, ::mrc::datapath::RawIo, kAuto, "", "Interface for complete frames, with datapath raw: AF_XDP (CAP_NET_ADMIN, CAP_BPF), AF_PACKET, or auto: AF_XDP where available") \
  TEXT(dpdk_ports, "", "DPDK port of each plane, separated by ';': PCI address, port name or device arguments such as net_memif0,role=client") \
  TEXT(dpdk_gateway, "", "Next hop of frames on DPDK ports, one for all planes or one for each, separated by ';': IPv6 or MAC address, or link: the peers are on the link; empty: link") \
  TEXT(dpdk_eal, "--no-huge --no-shconf --no-pci --no-telemetry -m 512 --log-level=4", "Arguments of DPDK's environment; for network cards: huge pages and -a PCI-ADDRESS instead of --no-huge and --no-pci") \
  INT(dpdk_mtu, 0, 0, 65000, "bytes", "Largest IPv6 packet on DPDK ports; 0: the MTU that the port reports")                       \
  FLAG(dpdk_checksum, true, "UDP checksums on DPDK ports, computed by the port where it can, else in software; false: 0") \
  INT(dpdk_poll_us, 20, 1, 1000000, "us", "Maximum interval between polls of DPDK ports while the application does not poll") \
  TEXT(dpdk_module, "", "File of the DPDK datapath; empty: libmrc-dpdk.so beside libmrc.so, else the dynamic linker's search path") \
  WORD(ev_mode, EvMode, kUdpPort, "", "Encoding of the entropy value: the UDP source port (16 bit), port and IPv6 flow label (32 bit), or these and the switches of an SRv6 path") \
  TEXT(srv6_paths, "", "Switches on each path, with ev_mode srv6: 'PREFIX/LENGTH via USID:USID...' or 'PREFIX/LENGTH direct', one per line or separated by ';'; {plane} and {uplink} are replaced, see spec/srv6.md") \
  INT(srv6_uplinks, 1, 1, 1024, "", "Number of uplinks: {uplink} in srv6_paths and srv6_loop runs from 1 to it")                  \
  TEXT(srv6_loop, "", "'USID:USID...', or lines as in srv6_paths, through the fabric and back to this host, tested at start: if UDP checksums survive it, segmentation offload is used; empty: one packet per send") \
  WORD(srv6_encap, ::mrc::datapath::Srv6Encap, kNone, "", "With ev_mode srv6 and datapath udp: none: destination addresses name the switches; kernel: routes of this host, chosen by UDP source port, encapsulate, see spec/srv6.md") \
  TEXT(srv6_source_ports, "", "'FIRST-LAST', the UDP source ports for srv6_encap kernel: an equal part for each path, as the rules of this host divide them (mrc-fabric writes both)") \
  FLAG(watch_links, true, "Retire a plane at once and notify the peers when its interface loses its link")                \
  INT(ev_count, 64, 1, 1024, "EVs", "Entropy values in the active set towards each peer, spread equally over the planes") \
  INT(ev_backups, 16, 0, 1024, "EVs", "Entropy values held back to replace bad ones")                                   \
  INT(ev_min_active, 0, 0, 1024, "EVs", "Minimum number of active entropy values that single losses may leave; 0: a quarter of those on the planes in use") \
  WORD(mtu, PathMtu, k4096, "bytes", "Largest path MTU offered; lowered to the MTU that all planes carry. 8192 is an extension") \
  INT(port, 4791, 1, 65535, "", "UDP port that process slot 0 and real NICs listen on")                                  \
  INT(second_port, 4971, 0, 65535, "", "Second UDP port on which process slot 0 receives if it is free: some deployments use 4971; 0: none") \
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
  INT(burst_packets, 15, 1, 64, "packets", "Maximum number of packets of one burst, which takes one path")                                   \
  INT(burst_bytes, 64000, 1024, 65000, "bytes", "Maximum UDP payload of one burst, which takes one path")                         \
  INT(sack_bytes, 65536, 4096, 16777216, "bytes", "Maximum number of received bytes before a SACK is sent")          \
  INT(ack_delay_us, 15, 0, 100000, "us", "Maximum time to delay a SACK or ACK so that it can be coalesced")                           \
  INT(reorder_floor_us, 20, 0, 1000000, "us", "A packet counts as lost when a packet sent at least this much later has arrived") \
  INT(probe_floor_us, 500, 10, 10000000, "us", "Minimum silence before a reliability probe")                              \
  INT(ev_probe_interval_ms, 50, 1, 60000, "ms", "Time between probes of a path that is assumed bad")                    \
  WORD(placement, ::mrc::core::Placement, kAuto, "", "Time at which received data is written to memory: arrival: as its packets arrive, in any order; in_order: in the order in which they were sent, at the cost of a copy of what overtook others; auto: in_order for queue pairs of ibv_create_qp, as InfiniBand does and programs rely on, arrival for those of mrc.h") \
  FLAG(hold_without_recv, true, "Hold a write with immediate until a receive is posted; false: reject it and fail the QP") \
  INT(mpr, 32, 1, 255, "128 PSNs", "Default PSN window of a QP, both directions")         \
  FLAG(dynamic_mpr, false, "Follow the window that the peer announces")                                                 \
  INT(max_wimm, 128, 1, 65535, "", "Default maximum number of writes with immediate in flight on a QP, both directions")           \
  FLAG(trim_nack, true, "The peers answer trimmed packets with a NACK")                                                 \
  INT(timeout, 14, 0, 24, "", "Default packet timeout of a QP: 1.024 us * 2^timeout")                            \
  INT(retry_linear, 7, 0, 7, "", "Default number of timeouts of equal length of a QP, before they grow")                   \
  INT(retry_exp, 15, 0, 25, "", "Default number of timeouts of doubling length (17 s at most) of a QP; 15: it fails after two minutes of silence; 25: never") \
  NAME(congestion_control, "nscc", core::congestion_algorithm_names(), "", "Congestion control of QPs without a CC profile (spec/congestion.md); none: the window is limited by mpr alone") \
  REAL(line_rate_gbps, 0, 0, 10000, "Gb/s", "Rate of all planes together, the lower one of both ends; 0: the rate of the planes' network cards where all report one, else measured") \
  REAL(base_rtt_us, 0, 0, 1000000, "us", "Round trip of one packet over the longest path of an idle fabric; 0: measured") \
  TEXT(congestion_parameters, "", "Parameters of congestion_control, NAME=VALUE separated by spaces or commas, times with their unit: gamma=0.5 target_delay=15us; spec/congestion.md lists them; empty: the defaults") \
  REAL(host_jitter_us, 150, 0, 1000000, "us", "Delay caused by the hosts' own scheduling: lower bound of congestion control's delay target") \
  INT(shards, 1, 0, 64, "engines", "Engines of this process on one device, each with a process slot, sockets, lock and helper thread of its own; QPs are spread over them, and each takes some 180 descriptors and longer to open; 0 or auto: one per 25 Gb/s of the planes, at most one per processor, and fewer if not all can be opened. One where peers are NICs, and with datapaths other than udp. What differs with several: spec/architecture.md, Shards", "auto") \
  INT(max_qps, 65532, 1, 65532, "QPs", "Maximum number of QPs of one engine of this process on one device")                                             \
  WORD(gso, ::mrc::datapath::Offload, kAuto, "", "UDP segmentation offload; auto: by a self-test; on: with SRv6 also declares that UDP checksums survive the fabric") \
  WORD(gro, ::mrc::datapath::Offload, kAuto, "", "UDP receive offload; auto: by a self-test")                             \
  INT(rcvbuf, 8388608, 65536, 1073741824, "bytes", "Receive buffer requested per plane; may need net.core.rmem_max")       \
  INT(sndbuf, 4194304, 65536, 1073741824, "bytes", "Send buffer requested per entropy value; may need net.core.wmem_max")  \
  INT(rx_buffers, 4, 1, 256, "64 KiB", "Maximum number of received bursts read from the kernel per call")                        \
  INT(helper_idle_us, 500, 1, 1000000, "us", "The helper thread takes over when the application has not polled for this time")   \
  INT(helper_park_us, 500, 10, 1000000, "us", "Sleep interval of the helper thread while the application polls")          \
  INT(helper_spin_us, 10, 0, 1000000, "us", "Time that the helper thread polls for more before it sleeps")               \
  INT(linger_ms, 200, 0, 60000, "ms", "Maximum time for which closing a device keeps acknowledging peers that still send")                       \
  INT(linger_quiet_ms, 20, 0, 60000, "ms", "Closing a device ends when nothing has arrived for this time; a peer that lost the last ACK solicits it again within 32 ms: use 100, with linger_ms 1000, on lossy networks")
// clang-format on

// The values.
struct Settings {
  MRC_SETTING_MEMBERS(MRC_SETTINGS)
  // Where a value that is not the default was set, for messages about values that exclude each other:
  // "f.yaml:3: key 'ev_count'" or "environment: MRC_EV_COUNT".
  std::map<std::string, std::string> origins;
};

using Setting = TypedSetting<Settings>;

const std::vector<Setting>& setting_table();
const Setting* find_setting(const std::string& name);
// Settings of earlier versions. `now` is the replacement, as a key with its value.
const std::vector<FormerSetting>& former_settings();

std::string settings_json(const Settings& current);  // all of the table with current values
std::string settings_markdown();                     // spec/settings.md

}  // namespace mrc::device
