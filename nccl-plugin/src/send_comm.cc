#include "send_comm.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "log.h"

namespace mrc::nccl {

ncclResult_t SendRequest::test(int* done, int* sizes) {
  *done = 0;
  if (pending_ != 0) {
    const ncclResult_t result = comm_->progress();
    if (pending_ != 0) return result;
  }
  *done = 1;
  event_.stop();
  if (sizes != nullptr) sizes[0] = static_cast<int>(size_);
  MRC_INVARIANT(comm_->free_count_ < kRows);
  comm_->free_[comm_->free_count_++] = static_cast<uint16_t>(this - comm_->requests_.data());
  comm_->check();
  return ncclSuccess;
}

SendComm::SendComm(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer)
    : Connection(std::move(context), number, traffic_class, std::move(peer), Role::kSender, {kSendDepth, 0}) {
  for (uint32_t i = 0; i < kRows; ++i) {
    requests_[i].comm_ = this;
    free_[i] = static_cast<uint16_t>(kRows - 1 - i);
  }
}

SendComm::~SendComm() {
  log_latencies();
  log_retransmissions();
  disconnect();
}

namespace {

std::string quantiles_of(const LatencyHistogram& times) {
  const auto us = [&times](double share) { return static_cast<double>(times.quantile(share)) / 1e3; };
  char text[128];
  std::snprintf(text, sizeof text, "p50 %.1f p90 %.1f p99 %.1f p99.9 %.1f max %.1f us", us(0.5), us(0.9), us(0.99),
                us(0.999), static_cast<double>(times.max()) / 1e3);
  return text;
}

}  // namespace

void SendComm::log_latencies() const {
  if (latencies_.count() == 0) return;
  const QpSample last = lanes_.sample();
  NET_INFO(
      "Connection with %s closes: %lu messages, completed after %s; QP %u: %lu packets, %lu sent again, %lu timeouts",
      peer().c_str(), static_cast<unsigned long>(latencies_.count()), quantiles_of(latencies_).c_str(), last.qpn,
      static_cast<unsigned long>(last.tx), static_cast<unsigned long>(last.retransmits),
      static_cast<unsigned long>(last.timeouts));
}

// Of all queue pairs together.
void SendComm::log_retransmissions() const {
  LatencyHistogram delays;
  for (const Lane& lane : lanes_) lanes_.sample_of(lane).add_delays(&delays);
  if (delays.count() == 0) return;
  NET_INFO("Connection with %s closes: %lu packets sent again were acknowledged %s after their first transmission",
           peer().c_str(), static_cast<unsigned long>(delays.count()), quantiles_of(delays).c_str());
}

std::optional<Connection::Clock::time_point> SendComm::oldest_posting() const {
  std::optional<Clock::time_point> oldest;
  for (const SendRequest& request : requests_)
    if (request.pending_ != 0 && (!oldest || request.posted_ < *oldest)) oldest = request.posted_;
  return oldest;
}

void SendComm::started(const SetupMessage&) {
  records_memory_ =
      Memory::add(api_, process().devices, number(), records_.data(), sizeof records_, IBV_ACCESS_LOCAL_WRITE);
  if (records_memory_ == nullptr) fail(ncclSystemError, std::string("registering memory: ") + std::strerror(errno));
}

bool SendComm::profiled() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](const SendRequest& r) { return r.pending_ != 0 && r.event_.open(); });
}

void SendComm::update_events(const PathDescription& path) {
  for (SendRequest& request : requests_)
    if (request.pending_ != 0) request.event_.update(path);
}

// True if the row at the head has begun.
bool SendComm::row_ready() {
  if (row_.begun()) return true;
  const std::optional<uint32_t> count = row_.read_count(fifo_[row_.place()]);
  if (!count) return false;
  if (!Row::in_range(*count)) {
    fail(ncclRemoteError, "the peer posted a group of " + std::to_string(*count) + " receives");
    return false;
  }
  row_.begin(*count);
  return true;
}

LaneSet SendComm::lanes_for(uint64_t size) const {
  LaneSet set;
  if (!cut(size)) return set.set(single_lane());
  for (size_t i = 0; i < lanes_.size(); ++i) set.set(i);
  return set;
}

// The slot for this tag in the row at the head, or -1 after progress(): there is none yet, or the connection has
// failed.
int SendComm::choose_slot(int tag) {
  if (!row_ready()) {  // the receiver is behind
    progress();
    if (error() != ncclSuccess || !row_ready()) return -1;
  }
  const int slot = row_.find(fifo_[row_.place()], tag);
  if (slot < 0) progress();  // its row follows this one, which may wait for a failed peer
  return slot;
}

// The lanes of the row at the head, with those of `message`. A row of empty messages needs one for its end.
LaneSet SendComm::row_lanes_with(const Message& message) const {
  LaneSet lanes = row_.lanes() | message.lanes;
  if (message.last && lanes.none()) lanes.set(single_lane());
  return lanes;
}

bool SendComm::has_room(const LaneSet& lanes, uint64_t size) const {
  if (free_count_ == 0 || record_busy_[row_.place()]) return false;
  const uint32_t writes = static_cast<uint32_t>(size / kLargestWrite) + 2;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (lanes[i] && !lanes_.room(lanes_[i], writes)) return false;
  return true;
}

ncclResult_t SendComm::isend(const void* data, uint64_t size, int tag, const Memory* memory, void* profile,
                             Request** request) {
  *request = nullptr;
  if (error() != ncclSuccess) return error();
  const Checked checked(this);
  if (size > kLargestMessage) {
    NET_WARN("A message of %lu bytes is above the limit of %lu", static_cast<unsigned long>(size),
             static_cast<unsigned long>(kLargestMessage));
    return ncclInvalidArgument;
  }
  const int slot = choose_slot(tag);
  if (slot < 0) return error();  // ncclSuccess: NCCL tries again
  // A larger message is truncated, as by NCCL's own networks. The peer can write here at any time: read once.
  size = std::min(size, __atomic_load_n(&fifo_[row_.place()][slot].size, __ATOMIC_RELAXED));
  Message message{slot, reinterpret_cast<uint64_t>(data), size, memory, row_.is_last(slot)};
  if (size != 0) message.lanes = lanes_for(size);
  const LaneSet row_lanes = row_lanes_with(message);
  if (!has_room(row_lanes, size)) return progress();  // completions make room

  // None carries the empty messages at the beginning of a row.
  const size_t first_lane = row_lanes.any() ? row_lanes._Find_first() : single_lane();
  row_.set_lanes(row_lanes);
  message.request = begin_request(slot, size);
  if (size != 0 && memory->gpu() != nullptr && stage(&message) != ncclSuccess) return error();
  if (post_message(message) != ncclSuccess) return error();
  row_.post(slot);
  SendRequest& made = requests_[message.request];
  made.event_.start(profile, {kProfileQp, number(), message.request, IBV_WR_RDMA_WRITE,
                              static_cast<int>(lanes_[first_lane].qpn), size});
  *request = &made;
  return ncclSuccess;
}

// Takes a free request, which there must be, for a message to this slot. Returns its index.
uint32_t SendComm::begin_request(int slot, uint64_t size) {
  const uint32_t index = free_[--free_count_];
  SendRequest& made = requests_[index];
  made.size_ = size;
  made.pending_ = 0;
  made.posted_ = Clock::now();
  made.place_ = static_cast<uint8_t>(row_.place());
  records_[row_.place()].sizes[slot] = size;
  return index;
}

// Copies the data of a GPU into the request's host memory, from where they are sent.
ncclResult_t SendComm::stage(Message* message) {
  Staging& staging = requests_[message->request].staging_;
  void* const room = staging.room(api_, process().devices, number(), message->size);
  if (room == nullptr) return fail(ncclSystemError, std::string("registering memory: ") + std::strerror(errno));
  message->memory->gpu()->read(room, reinterpret_cast<const void*>(message->data), message->size);
  message->data = reinterpret_cast<uint64_t>(room);
  message->memory = staging.memory();
  return ncclSuccess;
}

// Posts the message on its lanes and, when it is the last of its row, the row's end on every lane that the row used.
ncclResult_t SendComm::post_message(const Message& message) {
  const uint64_t pieces = std::max<size_t>(message.lanes.count(), 1);
  // Pieces begin at multiples of the largest packet, so that splitting makes no short packets within.
  const uint64_t piece = ((message.size + pieces - 1) / pieces + 4095) / 4096 * 4096;
  uint64_t offset = 0;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    uint64_t size = 0;
    if (message.lanes[i]) size = std::min(piece, message.size - offset);
    if (size == 0 && !(message.last && row_.lanes()[i])) continue;
    if (const ncclResult_t result = post_piece(static_cast<int>(i), message, offset, size); result != ncclSuccess)
      return result;
    offset += size;
  }
  return ncclSuccess;
}

ncclResult_t SendComm::post_piece(int lane_index, const Message& message, uint64_t offset, uint64_t size) {
  Lane& lane = lanes_[lane_index];
  const Slot& slot = fifo_[row_.place()][message.slot];
  WriteList writes;
  for (uint64_t at = 0; at < size; at += kLargestWrite)
    writes.add(WorkId{Work::kSend, lane_index, message.request}.pack(),
               {message.data + offset + at, static_cast<uint32_t>(std::min(kLargestWrite, size - at)),
                message.memory->lkey(lane.member)},
               slot.addr + offset + at, slot.keys[lane.remote_member]);
  if (message.last) add_end(lane_index, message, size, &writes);
  lane.in_flight += writes.size();
  requests_[message.request].pending_ += writes.size();
  return post(lane, writes.first());
}

// Ends the row on a lane, behind `size` bytes of its last message: by an immediate of the last write, or of one more.
void SendComm::add_end(int lane_index, const Message& message, uint64_t size, WriteList* writes) {
  const Lane& lane = lanes_[lane_index];
  const uint32_t place = row_.place();
  const uint32_t ends = static_cast<uint32_t>(row_.lanes().count());
  const uint32_t key = remote_control_.keys[lane.remote_member];
  const bool size_in_imm = row_.count() == 1 && ends == 1 && message.size <= kImmLargest;
  // Of the row's lanes the first carries the size record.
  const bool record = !size_in_imm && static_cast<size_t>(lane_index) == row_.lanes()._Find_first();
  if (record) {
    writes->add(WorkId{Work::kRecord, lane_index, message.request}.pack(),
                {reinterpret_cast<uint64_t>(&records_[place]), sizeof(SizeRecord), records_memory_->lkey(lane.member)},
                remote_control_.addr + place * sizeof(SizeRecord), key);
    record_busy_.set(place);
  } else if (ends_without_data(size, lane.mtu)) {
    writes->add(WorkId{Work::kSend, lane_index, message.request}.pack(), {}, remote_control_.addr, key);
  }
  writes->end_with(size_in_imm ? imm_with_size(row_.number(), message.size) : imm_with_lanes(row_.number(), ends));
}

void SendComm::completed(const ibv_wc& wc) {
  const WorkId id = WorkId::unpack(wc.wr_id);
  SendRequest& request = requests_[id.detail];
  --lanes_[id.lane].in_flight;
  if (--request.pending_ == 0)
    latencies_.record(static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - request.posted_).count()));
  if (id.kind == Work::kRecord) record_busy_.reset(request.place_);
}

// What the lanes have under way is that of requests, and those on the stack have nothing under way.
void SendComm::check() const {
  if constexpr (!kCheckInvariants) return;
  Connection::check();
  MRC_INVARIANT(free_count_ <= kRows);
  row_.check();
  MRC_INVARIANT((row_.lanes() >> lanes_.size()).none());
  if (error() != ncclSuccess || !pace_.due(kRows)) return;
  uint32_t of_lanes = 0, of_requests = own_in_flight();
  for (const Lane& lane : lanes_) of_lanes += lane.in_flight;
  for (const SendRequest& request : requests_) of_requests += request.pending_;
  MRC_INVARIANT(of_lanes == of_requests);
  std::bitset<kRows> on_stack;
  for (uint32_t i = 0; i < free_count_; ++i) {
    MRC_INVARIANT(!on_stack[free_[i]] && requests_[free_[i]].pending_ == 0);
    on_stack.set(free_[i]);
  }
}

}  // namespace mrc::nccl
