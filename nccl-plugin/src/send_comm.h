// SendComm: the sending end. Waits for rows in its FIFO, writes messages to the addresses in their slots, ends each row
// by immediates (protocol.h). Threads: one at a time.
#pragma once

#include <array>
#include <bitset>

#include "connection.h"
#include "invariant.h"
#include "latency_histogram.h"
#include "profile.h"
#include "protocol.h"
#include "request.h"
#include "row.h"
#include "write_list.h"

namespace mrc::nccl {

class SendComm;

class SendRequest final : public Request {
 public:
  ncclResult_t test(int* done, int* sizes) override;

 private:
  friend class SendComm;
  SendComm* comm_ = nullptr;
  uint64_t size_ = 0;
  uint32_t pending_ = 0;  // work requests
  std::chrono::steady_clock::time_point posted_;
  uint8_t place_ = 0;
  NetEvent event_;
  Staging staging_;
};

class SendComm final : public Connection {
 public:
  SendComm(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer);
  ~SendComm() override;

  // *request stays null when the receiver has not posted a buffer for this tag yet, or a queue is full.
  ncclResult_t isend(const void* data, uint64_t size, int tag, const Memory* memory, void* profile, Request** request);

  void set_split(uint32_t bytes) { split_bytes_ = bytes; }
  uint32_t split_bytes() const { return split_bytes_; }
  void check() const override;

 private:
  friend class SendRequest;
  static constexpr uint32_t kSendDepth = 2 * kRows + 16;  // a message and an end per row, and a keepalive

  struct Message {
    int slot;  // of the row at the head
    uint64_t data, size;
    const Memory* memory;
    bool last;        // of its row
    LaneSet lanes{};  // that carry it; none: it is empty
    uint32_t request = 0;
  };

  void* control_memory() override { return fifo_.data(); }
  size_t control_size() const override { return sizeof fifo_; }
  void completed(const ibv_wc& wc) override;
  void started(const SetupMessage& peer) override;
  std::optional<Clock::time_point> oldest_posting() const override;
  bool profiled() const override;
  void update_events(const PathDescription& path) override;
  void log_latencies() const;
  void log_retransmissions() const;

  bool row_ready();
  int choose_slot(int tag);
  bool cut(uint64_t size) const { return split_bytes_ != 0 && size >= split_bytes_ && lanes_.size() > 1; }
  // Of the row at the head, for messages that are not split.
  size_t single_lane() const { return row_.number() % lanes_.size(); }
  LaneSet lanes_for(uint64_t size) const;
  LaneSet row_lanes_with(const Message& message) const;
  // True if there are a request and the place's size record, and `lanes` can take a message of `size` and the end of
  // its row.
  bool has_room(const LaneSet& lanes, uint64_t size) const;
  uint32_t begin_request(int slot, uint64_t size);
  ncclResult_t stage(Message* message);
  ncclResult_t post_message(const Message& message);
  ncclResult_t post_piece(int lane, const Message& message, uint64_t offset, uint64_t size);
  void add_end(int lane, const Message& message, uint64_t size, WriteList* writes);

  alignas(64) std::array<Row::Slots, kRows> fifo_{};
  std::array<SizeRecord, kRows> records_{};  // sent from here
  std::unique_ptr<Memory> records_memory_;
  std::bitset<kRows> record_busy_;
  std::array<SendRequest, kRows> requests_;
  LatencyHistogram latencies_;        // from isend to the last completion
  std::array<uint16_t, kRows> free_;  // a stack of indices
  uint32_t free_count_ = kRows;
  uint32_t split_bytes_ = 0;
  Row row_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::nccl
