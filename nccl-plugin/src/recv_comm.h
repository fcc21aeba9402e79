// RecvComm: the receiving end. Posts rows of slots into the sender's FIFO and waits for the immediates that end them
// (protocol.h). Threads: one at a time.
#pragma once

#include <array>

#include "connection.h"
#include "invariant.h"
#include "profile.h"
#include "protocol.h"
#include "request.h"

namespace mrc::nccl {

class RecvComm;

class RecvRequest final : public Request {
 public:
  ncclResult_t test(int* done, int* sizes) override;

 private:
  friend class RecvComm;
  enum class State : uint8_t { kFree, kPosted, kDone };
  RecvComm* comm_ = nullptr;
  State state_ = State::kFree;
  uint8_t count_ = 0;
  uint8_t ends_ = 0;  // lanes that have ended the row
  uint64_t sizes_[kMaxRecvs] = {};
  NetEvent events_[kMaxRecvs];
};

class RecvComm final : public Connection {
 public:
  RecvComm(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer);
  ~RecvComm() override { disconnect(); }

  // One group of receives. *request stays null when kRows of them are in flight.
  ncclResult_t irecv(int n, void* const* data, const uint64_t* sizes, const int* tags, Memory* const* memory,
                     void* const* profiles, Request** request);
  void check() const override;

 private:
  friend class RecvRequest;
  static constexpr uint32_t kSlotsDepth = 2 * kRows + 16;      // two writes per row, and a keepalive
  static constexpr uint32_t kReceiveDepth = 2 * kRows;         // immediates in flight on a lane: one per row
  static constexpr uint32_t kRepostBatch = kReceiveDepth / 4;  // posted again together
  static constexpr uint32_t kRowsPerSignal = 16;

  void* control_memory() override { return records_.data(); }
  size_t control_size() const override { return sizeof records_; }
  void completed(const ibv_wc& wc) override;
  void started(const SetupMessage& peer) override;
  std::optional<Clock::time_point> oldest_posting() const override { return slots_posted_at_; }

  ncclResult_t post_slots(int n);
  void row_ended(uint32_t imm);

  alignas(64) std::array<std::array<Slot, kMaxRecvs>, kRows> slots_{};  // written to the sender from here
  alignas(64) std::array<SizeRecord, kRows> records_{};
  std::unique_ptr<Memory> slots_memory_;
  std::array<RecvRequest, kRows> requests_;
  std::array<uint32_t, kMaxLanes> taken_{};  // receives to be posted again
  uint64_t row_ = 1;                         // next one
  // Slots are acknowledged without a completion each: the device has the state of these.
  std::optional<Clock::time_point> slots_posted_at_;
  uint64_t rows_written_ = 0;              // all up to this one have reached the sender
  uint32_t writes_ = 0, writes_done_ = 0;  // work requests for slots, ever
  mutable InvariantPace pace_;
};

}  // namespace mrc::nccl
