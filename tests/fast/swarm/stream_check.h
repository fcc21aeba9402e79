// StreamCheck: one direction of a connection, as the program that uses it sees it. It names the message to post next
// and judges what comes back: completions in the order of the requests, immediates in theirs and not before their data,
// and bytes where messages place them and nowhere else. It serves worlds over endpoints and those over the public API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"

namespace mrc::swarm {

struct StreamMessage {
  uint32_t offset, length;  // in the source and in the target
  bool imm, signaled;
};

// Around all messages of a stream: bytes that stay blank.
inline constexpr uint32_t kStreamMargin = 256;

// Up to `count` messages of up to `longest` bytes, in the order of memory, that fit with their margins into `room`
// bytes. The last one is signalled.
std::vector<StreamMessage> draw_messages(Rng* rng, uint32_t count, uint32_t longest, uint32_t room);

class StreamCheck {
 public:
  // Fills both memories, which are `bytes` long and outlive this: `salt` tells the data and immediates of streams
  // apart.
  StreamCheck(std::vector<StreamMessage> messages, uint8_t* source, uint8_t* target, size_t bytes, uint32_t salt);

  // To be posted with posted() as its number; null: none for now. A program may not fill its send queue, which takes
  // `depth` requests, with unsignalled ones.
  const StreamMessage* next(uint32_t depth);
  void count_posted() { ++posted_; }
  uint32_t imm(size_t index) const { return static_cast<uint32_t>(index) ^ salt_ << 8; }

  // Each returns which promise was broken; empty: none. `index` is the number of a message, `request` that of a receive
  // request. on_failed() is for a completion with an error, of which unsignalled messages have one, too.
  std::string on_sent(size_t index);
  std::string on_failed(size_t index);
  std::string on_received(uint64_t request, uint32_t imm, uint32_t byte_len, bool compare_data);
  // Complete: everything that was posted has arrived.
  std::string check_memory(bool complete) const;

  size_t size() const { return messages_.size(); }
  size_t posted() const { return posted_; }
  size_t done() const { return done_; }
  size_t imms_done() const { return imms_done_; }
  bool finished() const;
  // A completion is due.
  bool pending() const;

 private:
  std::vector<StreamMessage> messages_;
  const uint8_t* source_;
  const uint8_t* target_;
  size_t bytes_;
  uint32_t salt_;
  size_t posted_ = 0;
  size_t done_ = 0;  // up to the last completion
  size_t imms_done_ = 0;
};

}  // namespace mrc::swarm
