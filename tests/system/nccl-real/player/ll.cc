// The protocols of small messages, in which flags travel with the data: LL has lines of two words of 4 bytes, each
// beside a flag; LL128 has lines of 120 bytes and a flag of 8. The flag is the step plus one. One step per call; what a
// proxy or a peer's kernel finds with the right flag is valid; LL128's sender counts its steps in *tail for the proxy
// besides.
#include <cstring>

#include "cuda/fatal.h"
#include "player/primitives.h"
#include "player/wait.h"

namespace mrc::nccl_rig::player {

namespace {

struct LlLines {
  static constexpr Protocol kProtocol = kLl;
  static constexpr size_t kLine = 16, kData = 8;
  static constexpr uint64_t kClean = 0x7ffffff8;  // whole slots are rewritten at such steps, so that no old flag is
                                                  // valid after the step's 32 bits wrap
  static constexpr bool kCountsInTail = false;
  static uint64_t half(uint32_t data, uint32_t flag) { return data | uint64_t{flag} << 32; }
  static bool ready(const char* line, uint64_t step) {
    const auto* words = reinterpret_cast<const uint64_t*>(line);
    const auto flag = static_cast<uint32_t>(step + 1);
    return load(words) >> 32 == flag && load(words + 1) >> 32 == flag;
  }
  static void take(const char* line, char* data) {
    memcpy(data, line, 4);
    memcpy(data + 4, line + 8, 4);
  }
  static void put(char* line, const char* data, uint64_t step) {
    uint32_t values[2];
    memcpy(values, data, sizeof values);
    auto* words = reinterpret_cast<uint64_t*>(line);
    store(words, half(values[0], static_cast<uint32_t>(step + 1)));
    store(words + 1, half(values[1], static_cast<uint32_t>(step + 1)));
  }
};

struct Ll128Lines {
  static constexpr Protocol kProtocol = kLl128;
  static constexpr size_t kLine = 128, kData = 120;
  static constexpr uint64_t kClean = ~uint64_t{0};  // its flags have 64 bits: never
  static constexpr bool kCountsInTail = true;
  static bool ready(const char* line, uint64_t step) {
    return load(reinterpret_cast<const uint64_t*>(line + kData)) == step + 1;
  }
  static void take(const char* line, char* data) { memcpy(data, line, kData); }
  static void put(char* line, const char* data, uint64_t step) {
    memcpy(line, data, kData);
    store(reinterpret_cast<uint64_t*>(line + kData), step + 1);
  }
};

template <typename Lines>
class Flagged : public Primitives {
 public:
  explicit Flagged(const Setting& setting)
      : Primitives(setting), slot_lines_(setting.comm->buffer_sizes[Lines::kProtocol] / kSteps / Lines::kLine) {}

  void run(const Piece& piece) override {
    const size_t lines = (piece.elements * element_size() + Lines::kData - 1) / Lines::kData;
    if (lines > slot_lines_) fatal("a step of %zu lines in a slot of %zu", lines, slot_lines_);
    std::vector<std::vector<char>> received, sent;
    std::vector<const char*> from;
    std::vector<char*> to;
    if (piece.receive)
      for (const Lane& lane : from_) received.push_back(take_lines(lane, lines));
    if (piece.send)
      for (const Lane& lane : to_) {
        wait_for_slot(lane, lines);
        sent.emplace_back(lines * Lines::kData);
      }
    for (auto& bytes : received) from.push_back(bytes.data());
    for (auto& bytes : sent) to.push_back(bytes.data());
    combine(piece, piece.elements, from, to);
    if (piece.receive)
      for (Lane& lane : from_) store(lane.connection->head, ++lane.step);
    if (piece.send)
      for (size_t i = 0; i < to_.size(); ++i) put_lines(&to_[i], sent[i], lines);
  }

 private:
  char* slot_of(const Lane& lane) const {
    return lane.connection->buffers[Lines::kProtocol] + (lane.step % kSteps) * slot_lines_ * Lines::kLine;
  }
  static bool cleans(uint64_t step) { return (step & Lines::kClean) == Lines::kClean; }

  std::vector<char> take_lines(const Lane& lane, size_t lines) const {
    std::vector<char> data(lines * Lines::kData);
    const char* slot = slot_of(lane);
    for (size_t i = 0; i < lines; ++i) {
      const char* line = slot + i * Lines::kLine;
      wait_until(setting_.comm->abort_flag, [&] { return Lines::ready(line, lane.step); });
      Lines::take(line, data.data() + i * Lines::kData);
    }
    return data;
  }
  void wait_for_slot(const Lane& lane, size_t lines) const {
    wait_until(setting_.comm->abort_flag, [&] { return load(lane.connection->head) + kSteps >= lane.step + 1; });
    if (ConnFifo* fifo = lane.connection->fifo) {
      const size_t size = (cleans(lane.step) ? slot_lines_ : lines) * Lines::kLine;
      *const_cast<volatile int64_t*>(&fifo[lane.step % kSteps].size) = static_cast<int64_t>(size);
    }
  }
  void put_lines(Lane* lane, const std::vector<char>& data, size_t lines) const {
    char* slot = slot_of(*lane);
    for (size_t i = 0; i < lines; ++i) Lines::put(slot + i * Lines::kLine, data.data() + i * Lines::kData, lane->step);
    const std::vector<char> nothing(Lines::kData);
    for (size_t i = lines; cleans(lane->step) && i < slot_lines_; ++i)
      Lines::put(slot + i * Lines::kLine, nothing.data(), lane->step);
    ++lane->step;
    if (Lines::kCountsInTail) store(lane->connection->tail, lane->step);
  }

  const size_t slot_lines_;
};

}  // namespace

std::unique_ptr<Primitives> make_ll(const Setting& setting) {
  return std::make_unique<Flagged<LlLines>>(setting);
}
std::unique_ptr<Primitives> make_ll128(const Setting& setting) {
  return std::make_unique<Flagged<Ll128Lines>>(setting);
}

}  // namespace mrc::nccl_rig::player
