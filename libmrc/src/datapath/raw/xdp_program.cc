#include "datapath/raw/xdp_program.h"

#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "datapath/raw/xdp_code.h"

namespace mrc::datapath {

namespace {

int bpf(bpf_cmd command, bpf_attr* attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, attributes, sizeof(*attributes)));
}

uint64_t address_of(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

}  // namespace

Status XdpProgram::open(uint32_t interface, uint32_t queues, const IpAddress& address, uint16_t port,
                        uint16_t second_port) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = map.value_size = sizeof(uint32_t);
  map.max_entries = queues;
  sockets_ = Fd(bpf(BPF_MAP_CREATE, &map));
  if (!sockets_) return failed_call("no map for AF_XDP");
  // Without support for frames in several buffers only small MTUs work, which is still useful on older kernels.
  Status attached;
  for (const bool fragments : {true, false}) {
    attached = load(address, port, second_port, fragments);
    if (attached) attached = attach(interface);
    if (attached) break;
  }
  return attached;
}

Status XdpProgram::load(const IpAddress& address, uint16_t port, uint16_t second_port, bool fragments) {
  const std::vector<bpf_insn> code = xdp_code(address, port, second_port, sockets_.get());
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.expected_attach_type = BPF_XDP;
  attributes.insns = address_of(code.data());
  attributes.insn_cnt = static_cast<uint32_t>(code.size());
  attributes.license = address_of("MIT");
  attributes.prog_flags = fragments ? BPF_F_XDP_HAS_FRAGS : 0;
  std::strncpy(attributes.prog_name, "mrc_rx", sizeof(attributes.prog_name) - 1);
  program_ = Fd(bpf(BPF_PROG_LOAD, &attributes));
  fragments_ = fragments;
  if (!program_) return failed_call("the XDP program does not load");
  return {};
}

Status XdpProgram::attach(uint32_t interface) {
  for (const uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<uint32_t>(program_.get());
    attributes.link_create.target_ifindex = interface;
    attributes.link_create.attach_type = BPF_XDP;
    attributes.link_create.flags = mode;
    link_ = Fd(bpf(BPF_LINK_CREATE, &attributes));
    in_driver_ = mode == XDP_FLAGS_DRV_MODE;
    if (link_) return {};
    if (errno == EBUSY) break;  // another XDP program, perhaps of another process that uses MRC
  }
  return failed_call("the XDP program cannot be attached to the interface");
}

Status XdpProgram::add(uint32_t queue, int socket) {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<uint32_t>(sockets_.get());
  attributes.key = address_of(&queue);
  attributes.value = address_of(&socket);
  if (bpf(BPF_MAP_UPDATE_ELEM, &attributes) != 0) return failed_call("no AF_XDP socket in the map");
  return {};
}

}  // namespace mrc::datapath
