// A port that is an AF_XDP socket on queue 0 of an interface, in copy mode or zero-copy as the kernel decides. A
// program of six instructions passes all frames of the interface to the socket.
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "fd.h"
#include "port.h"

namespace frame_limit {

namespace {

constexpr uint32_t kRing = 2048, kChunk = 4096;
constexpr uint32_t kSlot = kMaxFrameBytes / kChunk;  // adjacent chunks of a frame to send
constexpr uint16_t kSeveralBuffers = 1 << 4;         // XDP_USE_SG, since Linux 6.6
constexpr uint32_t kContinued = 1;                   // XDP_PKT_CONTD

template <typename Entry>
struct Ring {
  std::atomic<uint32_t>*producer, *consumer, *flags;
  Entry* entries;
  uint32_t at = 0;

  Entry& operator[](uint32_t i) { return entries[i & (kRing - 1)]; }
  void map(int fd, off_t page, const xdp_ring_offset& offset) {
    void* m = ::mmap(nullptr, offset.desc + kRing * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     fd, page);
    if (m == MAP_FAILED) fail("ring of AF_XDP");
    auto* base = static_cast<uint8_t*>(m);
    producer = reinterpret_cast<std::atomic<uint32_t>*>(base + offset.producer);
    consumer = reinterpret_cast<std::atomic<uint32_t>*>(base + offset.consumer);
    flags = reinterpret_cast<std::atomic<uint32_t>*>(base + offset.flags);
    entries = reinterpret_cast<Entry*>(base + offset.desc);
  }
};

int bpf(bpf_cmd command, bpf_attr* attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, attributes, sizeof(*attributes)));
}

template <typename T>
uint64_t pointer(const T* p) {
  return reinterpret_cast<uint64_t>(p);
}

class XdpPort final : public Port {
 public:
  explicit XdpPort(const std::string& interface);
  uint8_t* reserve() override;
  void commit(uint32_t bytes) override;
  void flush() override;
  uint32_t receive(Received* out, uint32_t max) override;
  void release() override;

 private:
  void attach(uint32_t interface);

  mrc::Fd fd_, sockets_, program_, link_;
  uint8_t* memory_ = nullptr;
  Ring<uint64_t> fill_{}, completion_{};
  Ring<xdp_desc> rx_{}, tx_{};
  std::vector<uint32_t> free_;
  std::vector<uint8_t> in_flight_;
};

XdpPort::XdpPort(const std::string& interface) {
  const uint32_t index = if_nametoindex(interface.c_str());
  if (index == 0) fail("interface " + interface);
  fd_ = mrc::Fd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  const int fd = fd_.get();
  void* m = ::mmap(nullptr, 2 * kRing * kChunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!fd_ || m == MAP_FAILED) fail("AF_XDP");
  memory_ = static_cast<uint8_t*>(m);
  xdp_umem_reg memory{};
  memory.addr = pointer(memory_);
  memory.len = 2 * kRing * kChunk;
  memory.chunk_size = kChunk;
  if (::setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof(memory)) != 0) fail("memory of AF_XDP");
  for (const int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING})
    if (::setsockopt(fd, SOL_XDP, ring, &kRing, sizeof(kRing)) != 0) fail("ring of AF_XDP");
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof(offsets);
  if (::getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0) fail("offsets of AF_XDP");
  fill_.map(fd, static_cast<off_t>(XDP_UMEM_PGOFF_FILL_RING), offsets.fr);
  completion_.map(fd, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING), offsets.cr);
  rx_.map(fd, XDP_PGOFF_RX_RING, offsets.rx);
  tx_.map(fd, static_cast<off_t>(XDP_PGOFF_TX_RING), offsets.tx);
  for (; fill_.at < kRing; ++fill_.at) fill_[fill_.at] = uint64_t{fill_.at} * kChunk;
  fill_.producer->store(fill_.at, std::memory_order_release);
  in_flight_.resize(kRing / kSlot);
  for (uint32_t slot = 0; slot < in_flight_.size(); ++slot) free_.push_back(slot);
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_flags = kSeveralBuffers | XDP_USE_NEED_WAKEUP;
  address.sxdp_ifindex = index;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) fail("bind to " + interface);
  int bytes = 4 << 20;
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
  attach(index);
}

void XdpPort::attach(uint32_t interface) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = map.value_size = 4;
  map.max_entries = 1;
  sockets_ = mrc::Fd(bpf(BPF_MAP_CREATE, &map));
  const uint32_t queue = 0;
  const int own = fd_.get();
  bpf_attr add{};
  add.map_fd = static_cast<uint32_t>(sockets_.get());
  add.key = pointer(&queue);
  add.value = pointer(&own);
  if (!sockets_ || bpf(BPF_MAP_UPDATE_ELEM, &add) != 0) fail("map of sockets");
  const bpf_insn code[] = {
      {BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(xdp_md, rx_queue_index), 0},  // key
      {BPF_LD | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, sockets_.get()},
      {0, 0, 0, 0, 0},
      {BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS},
      {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map},
      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
  };
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_XDP;
  load.expected_attach_type = BPF_XDP;
  load.insns = pointer(code);
  load.insn_cnt = sizeof(code) / sizeof(code[0]);
  load.license = pointer("MIT");
  load.prog_flags = BPF_F_XDP_HAS_FRAGS;
  program_ = mrc::Fd(bpf(BPF_PROG_LOAD, &load));
  if (!program_) fail("XDP program");
  bpf_attr link{};
  link.link_create.prog_fd = static_cast<uint32_t>(program_.get());
  link.link_create.target_ifindex = interface;
  link.link_create.attach_type = BPF_XDP;
  link.link_create.flags = XDP_FLAGS_DRV_MODE;
  link_ = mrc::Fd(bpf(BPF_LINK_CREATE, &link));
  if (!link_) fail("XDP program on the interface");
}

uint8_t* XdpPort::reserve() {
  if (free_.empty() || tx_.at - tx_.consumer->load(std::memory_order_acquire) + kSlot > kRing) return nullptr;
  return memory_ + (kRing + uint64_t{free_.back()} * kSlot) * kChunk;
}

void XdpPort::commit(uint32_t bytes) {
  const uint32_t slot = free_.back();
  free_.pop_back();
  uint64_t address = (kRing + uint64_t{slot} * kSlot) * kChunk;
  for (uint32_t left = bytes; left > 0; address += kChunk) {
    const uint32_t size = std::min(left, kChunk);
    left -= size;
    tx_[tx_.at++] = {address, size, left > 0 ? kContinued : 0};
    ++in_flight_[slot];
  }
}

void XdpPort::flush() {
  tx_.producer->store(tx_.at, std::memory_order_release);
  __sync_synchronize();  // std::atomic_thread_fence, which ThreadSanitizer refuses
  for (uint32_t before = 0, left = 1; left != before;) {
    before = tx_.at - tx_.consumer->load(std::memory_order_acquire);
    if (before == 0 || (tx_.flags->load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) == 0) break;
    (void)::sendto(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    left = tx_.at - tx_.consumer->load(std::memory_order_acquire);
  }
  const uint32_t done = completion_.producer->load(std::memory_order_acquire);
  for (; completion_.at != done; ++completion_.at) {
    const auto slot = static_cast<uint32_t>(completion_[completion_.at] / kChunk - kRing) / kSlot;
    if (--in_flight_[slot] == 0) free_.push_back(slot);
  }
  completion_.consumer->store(completion_.at, std::memory_order_release);
}

uint32_t XdpPort::receive(Received* out, uint32_t max) {
  const uint32_t waiting = rx_.producer->load(std::memory_order_acquire);
  uint32_t got = 0;
  while (got < max) {
    Received& frame = out[got];
    uint32_t at = rx_.at;
    frame.count = 0;
    bool whole = false;
    for (; at != waiting && !whole; ++at) {
      const xdp_desc& part = rx_[at];
      if (frame.count < frame.parts.size()) frame.parts[frame.count++] = {memory_ + part.addr, part.len};
      whole = (part.options & kContinued) == 0;
    }
    if (!whole) break;
    for (; rx_.at != at; ++rx_.at) fill_[fill_.at++] = rx_[rx_.at].addr;
    ++got;
  }
  return got;
}

void XdpPort::release() {
  rx_.consumer->store(rx_.at, std::memory_order_release);
  fill_.producer->store(fill_.at, std::memory_order_release);
}

}  // namespace

const char* const kKind = "AF_XDP";
const char* const kProgram = "mrc-xdp-limit";

void prepare_ports(const std::string&) {}

std::unique_ptr<Port> open_port(const std::string& name) {
  return std::make_unique<XdpPort>(name);
}

}  // namespace frame_limit
