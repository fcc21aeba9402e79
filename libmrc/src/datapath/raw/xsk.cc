#include "datapath/raw/xsk.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "invariant.h"

namespace mrc::datapath {

namespace {

// Since Linux 6.6; the headers of Debian 12 are older.
constexpr uint16_t kUseSeveralBuffers = 1 << 4;  // XDP_USE_SG
constexpr uint32_t kContinued = 1;               // XDP_PKT_CONTD

}  // namespace

Xsk::~Xsk() {
  fd_ = Fd();
  room_ = Fd();  // the kernel releases the memory first
  if (memory_ != nullptr) ::munmap(memory_, kChunks * kChunkBytes);
}

Status Xsk::open(uint32_t interface, uint32_t queue, bool several_chunks, uint32_t largest_frame) {
  fd_ = Fd(::socket(AF_XDP, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_) return failed_call("no AF_XDP socket");
  room_ = Fd(::dup(fd_.get()));
  void* p = ::mmap(nullptr, kChunks * kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return failed_call("no memory for AF_XDP");
  memory_ = static_cast<uint8_t*>(p);
  xdp_umem_reg memory{};
  memory.addr = reinterpret_cast<uint64_t>(memory_);
  memory.len = kChunks * kChunkBytes;
  memory.chunk_size = kChunkBytes;
  if (::setsockopt(fd_.get(), SOL_XDP, XDP_UMEM_REG, &memory, sizeof(memory)) != 0)
    return failed_call("AF_XDP does not take the memory (ulimit -l)");
  if (Status made = make_rings(); !made) return made;
  slot_chunks_ = (kHeadroom + largest_frame + kChunkBytes - 1) / kChunkBytes;  // to be received, too
  if (Status bound = bind(interface, queue, several_chunks && slot_chunks_ > 1); !bound) return bound;
  share_out();
  return {};
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
Status Xsk::bind(uint32_t interface, uint32_t queue, bool several_chunks) {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = interface;
  address.sxdp_queue_id = queue;
  for (const bool several : {true, false}) {
    if (several && !several_chunks) continue;
    address.sxdp_flags = XDP_USE_NEED_WAKEUP;
    if (several) address.sxdp_flags |= kUseSeveralBuffers;
    if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) continue;
    if (!several) slot_chunks_ = 1;
    xdp_options options{};
    socklen_t length = sizeof(options);
    if (::getsockopt(fd_.get(), SOL_XDP, XDP_OPTIONS, &options, &length) == 0)
      zero_copy_ = (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
    return {};
  }
  return failed_call("the AF_XDP socket cannot be bound to the queue");
}

// Half of the memory to receive in, half to send from.
void Xsk::share_out() {
  for (uint32_t i = 0; i < kRing; ++i) fill_.next() = uint64_t{i} * kChunkBytes;
  fill_.submit();
  lent_.reserve(kRing);
  in_flight_.resize(kRing / slot_chunks_);
  free_.reserve(in_flight_.size());
  for (uint32_t slot = 0; slot < in_flight_.size(); ++slot) free_.push_back(slot);
  joined_ = std::make_unique<uint8_t[]>(kJoinBytes);
}

uint32_t Xsk::largest_frame() const {
  return slot_chunks_ > 1 ? slot_chunks_ * kChunkBytes : kChunkBytes - kHeadroom;
}

uint64_t Xsk::dropped() const {
  xdp_statistics statistics{};
  socklen_t length = sizeof(statistics);
  if (::getsockopt(fd_.get(), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0) return 0;
  return statistics.rx_dropped + statistics.rx_ring_full + statistics.rx_fill_ring_empty_descs;
}

// 0: none, or it is incomplete.
uint32_t Xsk::parts_of_next(uint32_t* bytes) const {
  const uint32_t waiting = rx_.waiting();
  *bytes = 0;
  for (uint32_t parts = 0; parts < waiting;) {
    const xdp_desc& part = rx_.peek(parts++);
    *bytes += part.len;
    if ((part.options & kContinued) == 0) return parts;
  }
  return 0;
}

std::optional<Xsk::Frame> Xsk::receive() {
  Frame frame;
  const uint32_t parts = parts_of_next(&frame.bytes);
  if (parts == 0) return std::nullopt;
  frame.data = parts == 1 ? at(rx_.peek(0).addr) : join(parts, frame.bytes);
  if (frame.data == nullptr && joined_bytes_ > 0) return std::nullopt;  // there is room after release()
  if (frame.data == nullptr) frame.bytes = 0;                           // longer than any of ours
  for (uint32_t i = 0; i < parts; ++i) lent_.push_back(rx_.peek(i).addr);
  rx_.done(parts);
  return frame;
}

// The parts of a frame in one piece. Null: no room.
const uint8_t* Xsk::join(uint32_t parts, uint32_t bytes) {
  const uint64_t first = rx_.peek(0).addr;
  bool adjacent = true;
  for (uint32_t i = 1; i < parts; ++i) adjacent = adjacent && rx_.peek(i).addr / kChunkBytes == first / kChunkBytes + i;
  uint8_t* begin = at(first);
  if (!adjacent) {
    if (bytes > kJoinBytes - joined_bytes_) return nullptr;
    begin = joined_.get() + joined_bytes_;
    joined_bytes_ += bytes;
  }
  uint8_t* to = begin;
  for (uint32_t i = 0; i < parts; ++i) {
    const xdp_desc& part = rx_.peek(i);
    if (to != at(part.addr)) std::memmove(to, at(part.addr), part.len);
    to += part.len;
  }
  return begin;
}

void Xsk::release() {
  joined_bytes_ = 0;
  if (lent_.empty()) return;
  for (const uint64_t address : lent_) fill_.next() = address;  // there is room: they were taken from it
  fill_.submit();
  lent_.clear();
  check();
  if (fill_.needs_wakeup()) (void)::recvfrom(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

void Xsk::reclaim() {
  const uint32_t count = completion_.waiting();
  for (uint32_t i = 0; i < count; ++i) {
    const auto chunk = static_cast<uint32_t>(completion_.peek(i) / kChunkBytes) - kRing;
    const uint32_t slot = chunk / slot_chunks_;
    if (--in_flight_[slot] == 0) free_.push_back(slot);
  }
  if (count > 0) completion_.done(count);
}

uint8_t* Xsk::reserve() {
  if (free_.empty()) reclaim();
  if (free_.empty() || tx_.room() < slot_chunks_) return nullptr;
  return at((uint64_t{kRing} + uint64_t{free_.back()} * slot_chunks_) * kChunkBytes);
}

void Xsk::commit(uint32_t header_bytes, uint32_t payload_bytes) {
  const uint32_t slot = free_.back();
  free_.pop_back();
  uint64_t address = (uint64_t{kRing} + uint64_t{slot} * slot_chunks_) * kChunkBytes;
  for (uint32_t left = header_bytes + payload_bytes; left > 0; address += kChunkBytes) {
    const uint32_t size = std::min(left, kChunkBytes);
    left -= size;
    ++in_flight_[slot];
    xdp_desc& entry = tx_.next();
    entry.addr = address;
    entry.len = size;
    entry.options = left > 0 ? kContinued : 0;
  }
}

// One call takes a few dozen descriptors where the kernel copies, and fewer when it is out of memory.
void Xsk::flush(DatapathCounters* counters) {
  tx_.submit();
  for (uint32_t left = tx_.left(), before = 0; left > 0 && left != before && tx_.needs_wakeup(); left = tx_.left()) {
    before = left;
    (void)::sendto(fd_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    ++counters->tx_calls;
  }
  reclaim();
  check();
}

void Xsk::check() const {
  MRC_INVARIANT(joined_bytes_ <= kJoinBytes && lent_.size() <= kRing);
  MRC_INVARIANT(free_.size() <= in_flight_.size());
  MRC_INVARIANT(free_.empty() || in_flight_[free_.back()] == 0);
}

}  // namespace mrc::datapath
