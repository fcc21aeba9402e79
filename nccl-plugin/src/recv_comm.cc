#include "recv_comm.h"

#include <cerrno>
#include <cstring>

#include "log.h"

namespace mrc::nccl {

ncclResult_t RecvRequest::test(int* done, int* sizes) {
  *done = 0;
  if (state_ != State::kDone) {
    const ncclResult_t result = comm_->progress();
    if (state_ != State::kDone) return result;
  }
  *done = 1;
  for (int i = 0; i < count_; ++i) events_[i].stop();
  if (sizes != nullptr)
    for (int i = 0; i < count_; ++i) sizes[i] = static_cast<int>(sizes_[i]);
  state_ = State::kFree;
  return ncclSuccess;
}

RecvComm::RecvComm(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer)
    : Connection(std::move(context), number, traffic_class, std::move(peer), Role::kReceiver,
                 {kSlotsDepth, kReceiveDepth}) {
  for (RecvRequest& request : requests_) request.comm_ = this;
}

void RecvComm::started(const SetupMessage&) {
  slots_memory_ = Memory::add(api_, process().devices, number(), slots_.data(), sizeof slots_, IBV_ACCESS_LOCAL_WRITE);
  if (slots_memory_ == nullptr) fail(ncclSystemError, std::string("registering memory: ") + std::strerror(errno));
}

ncclResult_t RecvComm::irecv(int n, void* const* data, const uint64_t* sizes, const int* tags, Memory* const* memory,
                             void* const* profiles, Request** request) {
  *request = nullptr;
  if (error() != ncclSuccess) return error();
  const Checked checked(this);
  if (n < 1 || n > kMaxRecvs) {
    NET_WARN("A group of %d receives, at most %d are possible", n, kMaxRecvs);
    return ncclInvalidArgument;
  }
  RecvRequest& made = requests_[place_of(row_)];
  // The slots of this place may be changed when the write that sent their last contents has been acknowledged.
  const bool slots_busy = row_ > kRows && rows_written_ < row_ - kRows;
  if (made.state_ != RecvRequest::State::kFree || slots_busy || !lanes_.room(lanes_[0], 2)) return progress();

  auto& slots = slots_[place_of(row_)];
  for (int i = 0; i < n; ++i) {
    Slot& slot = slots[i];
    slot.addr = memory[i] != nullptr ? memory[i]->address(data[i]) : reinterpret_cast<uint64_t>(data[i]);
    slot.size = sizes[i];
    slot.tag = tags != nullptr ? tags[i] : 0;
    slot.count = static_cast<uint32_t>(n);
    slot.row = row_;
    const int members = memory[i] != nullptr ? memory[i]->members() : 0;
    for (int m = 0; m < kMaxMembers; ++m) slot.keys[m] = m < members ? memory[i]->rkey(m) : 0;
    made.sizes_[i] = sizes[i];
  }
  made.count_ = static_cast<uint8_t>(n);
  made.ends_ = 0;
  made.state_ = RecvRequest::State::kPosted;
  if (post_slots(n) != ncclSuccess) return error();
  for (int i = 0; profiles != nullptr && i < n; ++i)
    made.events_[i].start(profiles[i], {kProfileQp, number(), place_of(row_), IBV_WR_RDMA_WRITE,
                                        static_cast<int>(lanes_[0].qpn), sizes[i]});
  slots_posted_at_ = Clock::now();
  ++row_;
  *request = &made;
  return ncclSuccess;
}

ncclResult_t RecvComm::post_slots(int n) {
  Lane& lane = lanes_[0];
  const uint32_t place = place_of(row_);
  ibv_send_wr list[kMaxRecvs / kSlotsPerWrite];
  ibv_sge parts[kMaxRecvs / kSlotsPerWrite];
  int writes = 0;
  for (int first = 0; first < n; first += kSlotsPerWrite, ++writes) {
    const int count = n - first < kSlotsPerWrite ? n - first : kSlotsPerWrite;
    parts[writes] = {reinterpret_cast<uint64_t>(&slots_[place][first]), static_cast<uint32_t>(count * sizeof(Slot)),
                     slots_memory_->lkey(lane.member)};
    ibv_send_wr& wr = list[writes];
    wr = {};
    wr.sg_list = &parts[writes];
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = remote_control_.addr + (place * kMaxRecvs + first) * sizeof(Slot);
    wr.wr.rdma.rkey = remote_control_.keys[lane.remote_member];
    if (writes > 0) list[writes - 1].next = &wr;
  }
  writes_ += writes;
  lane.in_flight += writes;
  ibv_send_wr& last = list[writes - 1];
  last.wr_id = WorkId{Work::kSlots, 0, writes_}.pack();
  if (row_ % kRowsPerSignal == 0) last.send_flags = IBV_SEND_SIGNALED;
  return post(lane, list);
}

void RecvComm::completed(const ibv_wc& wc) {
  const WorkId id = WorkId::unpack(wc.wr_id);
  if (id.kind == Work::kSlots) {
    lanes_[0].in_flight -= id.detail - writes_done_;
    writes_done_ = id.detail;
    rows_written_ += kRowsPerSignal;
    return;
  }
  if (++taken_[id.lane] >= kRepostBatch) {
    taken_[id.lane] = 0;
    post_receives(id.lane, kRepostBatch);
  }
  row_ended(wc.imm_data);
}

// The peer's immediates are checked: it must not end a row that does not exist, nor twice, nor with more than was
// requested.
void RecvComm::row_ended(uint32_t imm) {
  const uint32_t place = imm >> 24;
  RecvRequest& request = requests_[place];
  if (request.state_ != RecvRequest::State::kPosted) {
    fail(ncclRemoteError, "the peer ended a receive that was not posted");
    return;
  }
  uint64_t sizes[kMaxRecvs] = {imm & kImmLargest};
  if ((imm & kImmSizes) != 0) {
    if (++request.ends_ < (imm & 0xFF)) return;
    std::memcpy(sizes, records_[place].sizes, sizeof sizes);
  }
  for (int i = 0; i < request.count_; ++i) {
    if (sizes[i] > request.sizes_[i]) {
      fail(ncclRemoteError, "the peer reports that it sent more than was requested");
      return;
    }
    request.sizes_[i] = sizes[i];
  }
  request.state_ = RecvRequest::State::kDone;
}

// The first lane has under way what was written into the peer's FIFO; every lane keeps enough receives posted.
void RecvComm::check() const {
  if constexpr (!kCheckInvariants) return;
  Connection::check();
  MRC_INVARIANT(rows_written_ < row_ && rows_written_ % kRowsPerSignal == 0);
  if (error() != ncclSuccess || lanes_.size() == 0) return;
  MRC_INVARIANT(lanes_[0].in_flight == writes_ - writes_done_ + own_in_flight());
  if (!pace_.due(kRows)) return;
  for (const uint32_t taken : taken_) MRC_INVARIANT(taken < kRepostBatch);
  for (const RecvRequest& request : requests_)
    MRC_INVARIANT(request.state_ == RecvRequest::State::kFree || (request.count_ >= 1 && request.count_ <= kMaxRecvs));
}

}  // namespace mrc::nccl
