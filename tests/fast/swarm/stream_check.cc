#include "swarm/stream_check.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mrc::swarm {

namespace {

constexpr uint8_t kBlank = 0xEE;  // even: no byte of a source

}  // namespace

std::vector<StreamMessage> draw_messages(Rng* rng, uint32_t count, uint32_t longest, uint32_t room) {
  std::vector<StreamMessage> messages;
  uint32_t offset = kStreamMargin;
  while (messages.size() < count) {
    StreamMessage m{};
    m.offset = offset;
    m.length = rng->chance(0.1) ? 0 : rng->chance(0.5) ? 1 + rng->below(200) : 1 + rng->below(longest);
    if (offset + m.length + kStreamMargin > room) break;
    m.imm = rng->chance(0.4);
    m.signaled = rng->chance(0.5);
    offset += m.length + (rng->chance(0.3) ? rng->below(20) : 0);
    messages.push_back(m);
  }
  if (!messages.empty()) messages.back().signaled = true;
  return messages;
}

StreamCheck::StreamCheck(std::vector<StreamMessage> messages, uint8_t* source, uint8_t* target, size_t bytes,
                         uint32_t salt)
    : messages_(std::move(messages)), source_(source), target_(target), bytes_(bytes), salt_(salt) {
  for (size_t i = 0; i < bytes; ++i) source[i] = static_cast<uint8_t>((i * 131 + (i >> 7) + salt) | 1);
  std::fill_n(target, bytes, kBlank);
}

const StreamMessage* StreamCheck::next(uint32_t depth) {
  const size_t under_way = posted_ - done_;
  if (posted_ == messages_.size() || under_way >= depth) return nullptr;
  StreamMessage* const message = &messages_[posted_];
  if (under_way + 1 == depth) message->signaled = true;
  return message;
}

std::string StreamCheck::on_sent(size_t index) {
  size_t due = done_;
  while (due < posted_ && !messages_[due].signaled) ++due;
  if (due == posted_ || due != index) return "send completions out of order or twice";
  done_ = due + 1;
  return "";
}

std::string StreamCheck::on_failed(size_t index) {
  if (index < done_ || index >= posted_) return "a completion of what is not under way";
  done_ = index + 1;
  return "";
}

std::string StreamCheck::on_received(uint64_t request, uint32_t imm_data, uint32_t byte_len, bool compare_data) {
  size_t seen = 0, k = 0;
  for (; k < messages_.size(); ++k)
    if (messages_[k].imm && seen++ == imms_done_) break;
  if (k >= posted_) return "an immediate that was not sent";
  if (request != imms_done_) return "a receive request out of order";
  if (imm_data != imm(k)) return "immediates out of order";
  if (byte_len != messages_[k].length) return "the length of an immediate";
  for (size_t m = 0; m <= k && compare_data; ++m)
    if (std::memcmp(target_ + messages_[m].offset, source_ + messages_[m].offset, messages_[m].length) != 0)
      return "a receive completion before the data of message " + std::to_string(m);
  ++imms_done_;
  return "";
}

std::string StreamCheck::check_memory(bool complete) const {
  std::vector<bool> may(bytes_, false);
  for (size_t m = 0; m < posted_; ++m)
    std::fill_n(may.begin() + static_cast<std::ptrdiff_t>(messages_[m].offset), messages_[m].length, true);
  for (size_t i = 0; i < bytes_; ++i) {
    if (target_[i] == (may[i] ? source_[i] : kBlank)) continue;
    if (!may[i]) return "byte " + std::to_string(i) + " outside every message was written";
    if (target_[i] != kBlank) return "byte " + std::to_string(i) + " is wrong";
    if (complete) return "byte " + std::to_string(i) + " is missing";
  }
  return "";
}

bool StreamCheck::finished() const {
  const auto imms = std::count_if(messages_.begin(), messages_.end(), [](const StreamMessage& m) { return m.imm; });
  return done_ == messages_.size() && imms_done_ == static_cast<size_t>(imms);
}

bool StreamCheck::pending() const {
  return std::any_of(messages_.begin() + static_cast<std::ptrdiff_t>(done_),
                     messages_.begin() + static_cast<std::ptrdiff_t>(posted_),
                     [](const StreamMessage& m) { return m.signaled; });
}

}  // namespace mrc::swarm
