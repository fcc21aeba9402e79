#include "datapath/raw/xsk.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

// Since Linux 6.6; the headers of Debian 12 are older.
constexpr uint16_t kUseSeveralBuffers = 1 << 4;  // XDP_USE_SG
constexpr uint32_t kContinued = 1;               // XDP_PKT_CONTD

}  // namespace

Xsk::~Xsk() {
  fd_ = Fd();  // the kernel releases the memory first
  if (memory_ != nullptr) ::munmap(memory_, kFrames * kFrameBytes);
}

Status Xsk::open(uint32_t interface, uint32_t queue, bool several_buffers) {
  fd_ = Fd(::socket(AF_XDP, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_) return failed_call("no AF_XDP socket");
  void* p = ::mmap(nullptr, kFrames * kFrameBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return failed_call("no memory for AF_XDP");
  memory_ = static_cast<uint8_t*>(p);
  xdp_umem_reg memory{};
  memory.addr = reinterpret_cast<uint64_t>(memory_);
  memory.len = kFrames * kFrameBytes;
  memory.chunk_size = kFrameBytes;
  if (::setsockopt(fd_.get(), SOL_XDP, XDP_UMEM_REG, &memory, sizeof(memory)) != 0)
    return failed_call("AF_XDP does not take the memory (ulimit -l)");
  if (Status made = make_rings(); !made) return made;
  for (uint32_t i = 0; i < kRing; ++i) {
    fill_.next() = uint64_t{i} * kFrameBytes;
    free_.push_back((uint64_t{kRing} + i) * kFrameBytes);
  }
  fill_.submit();
  return bind(interface, queue, several_buffers);
}

Status Xsk::make_rings() {
  const uint32_t entries = kRing;
  for (int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING})
    if (::setsockopt(fd_.get(), SOL_XDP, ring, &entries, sizeof(entries)) != 0) return failed_call("no AF_XDP ring");
  xdp_mmap_offsets offsets{};
  socklen_t length = sizeof(offsets);
  if (::getsockopt(fd_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0 || length != sizeof(offsets))
    return failed_call("AF_XDP of another kernel than this was built for");
  if (fill_.map(fd_.get(), XDP_UMEM_PGOFF_FILL_RING, offsets.fr, kRing) &&
      completion_.map(fd_.get(), XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr, kRing) &&
      rx_.map(fd_.get(), XDP_PGOFF_RX_RING, offsets.rx, kRing) &&
      tx_.map(fd_.get(), XDP_PGOFF_TX_RING, offsets.tx, kRing))
    return {};
  return failed_call("an AF_XDP ring cannot be mapped");
}

// The kernel uses zero-copy if the driver supports it, else copies.
Status Xsk::bind(uint32_t interface, uint32_t queue, bool several_buffers) {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = interface;
  address.sxdp_queue_id = queue;
  for (const bool several : {true, false}) {
    if (several && !several_buffers) continue;
    address.sxdp_flags = several ? kUseSeveralBuffers : 0;
    if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) continue;
    several_buffers_ = several;
    xdp_options options{};
    socklen_t length = sizeof(options);
    if (::getsockopt(fd_.get(), SOL_XDP, XDP_OPTIONS, &options, &length) == 0)
      zero_copy_ = (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
    return {};
  }
  return failed_call("the AF_XDP socket cannot be bound to the queue");
}

uint64_t Xsk::dropped() const {
  xdp_statistics statistics{};
  socklen_t length = sizeof(statistics);
  if (::getsockopt(fd_.get(), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0) return 0;
  return statistics.rx_dropped + statistics.rx_ring_full + statistics.rx_fill_ring_empty_descs;
}

bool Xsk::receive(Frame* out) {
  const uint32_t waiting = rx_.waiting();
  uint32_t parts = 0, bytes = 0;
  bool whole = false;
  while (!whole && parts < waiting) {
    const xdp_desc& part = rx_.peek(parts++);
    bytes += part.len;
    whole = (part.options & kContinued) == 0;
  }
  if (!whole) return false;  // nothing, or incomplete
  out->bytes = bytes;
  out->data = at(rx_.peek(0).addr);
  if (parts > 1) {
    joined_.push_back(std::make_unique<uint8_t[]>(bytes));
    uint8_t* to = joined_.back().get();
    out->data = to;
    for (uint32_t i = 0; i < parts; ++i) to = std::copy_n(at(rx_.peek(i).addr), rx_.peek(i).len, to);
  }
  for (uint32_t i = 0; i < parts; ++i) lent_.push_back(rx_.peek(i).addr);
  rx_.done(parts);
  return true;
}

void Xsk::release() {
  joined_.clear();
  if (lent_.empty()) return;
  for (const uint64_t address : lent_) fill_.next() = address;  // there is room: they were taken from it
  fill_.submit();
  lent_.clear();
}

void Xsk::reclaim() {
  const uint32_t count = completion_.waiting();
  for (uint32_t i = 0; i < count; ++i) free_.push_back(completion_.peek(i));
  if (count > 0) completion_.done(count);
}

bool Xsk::send(const iovec* parts, uint32_t count, uint32_t bytes) {
  const uint32_t frames = (bytes + kFrameBytes - 1) / kFrameBytes;
  if (free_.size() < frames) reclaim();
  if (free_.size() < frames || tx_.room() < frames) return false;
  size_t offset = 0;
  for (uint32_t left = bytes; left > 0;) {
    const uint32_t size = std::min(left, kFrameBytes);
    const uint64_t address = free_.back();
    free_.pop_back();
    left -= size;
    for (uint32_t put = 0; put < size && count > 0;) {
      const auto take = static_cast<uint32_t>(std::min<size_t>(size - put, parts->iov_len - offset));
      std::memcpy(at(address) + put, static_cast<const uint8_t*>(parts->iov_base) + offset, take);
      put += take;
      offset += take;
      if (offset < parts->iov_len) continue;
      offset = 0;
      ++parts;
      --count;
    }
    xdp_desc& entry = tx_.next();
    entry.addr = address;
    entry.len = size;
    entry.options = left > 0 ? kContinued : 0;
  }
  tx_.submit();
  return true;
}

int Xsk::kick() {
  if (::sendto(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) return 0;
  return errno;
}

}  // namespace mrc::datapath
