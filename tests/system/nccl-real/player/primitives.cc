#include "player/primitives.h"

#include <algorithm>
#include <cstring>

namespace mrc::nccl_rig::player {

Primitives::Primitives(const Setting& setting) : setting_(setting), element_size_(type_size(setting.arithmetic.type)) {
  for (ConnInfo* c : setting.from) from_.push_back({c, c->step});
  for (ConnInfo* c : setting.to) to_.push_back({c, c->step});
}

Primitives::~Primitives() {
  for (const Lane& lane : from_) lane.connection->step = lane.step;
  for (const Lane& lane : to_) lane.connection->step = lane.step;
}

void Primitives::combine(const Piece& piece, size_t elements, const std::vector<const char*>& from,
                         const std::vector<char*>& to) const {
  constexpr size_t kBlock = 16384;  // elements that stay in the cache from one operation to the next
  const Arithmetic& arithmetic = setting_.arithmetic;
  for (size_t done = 0; done < elements; done += kBlock) {
    const size_t n = std::min(kBlock, elements - done), at = done * element_size_;
    char* result = piece.target ? piece.target + at : to.empty() ? nullptr : to[0] + at;
    if (result == nullptr) return;
    const char* value = nullptr;
    if (piece.source) {
      value = piece.source + at;
      if (arithmetic.prepares()) {
        arithmetic.prepare(result, value, n);
        value = result;
      }
    }
    for (const char* peer : from) {
      if (value == nullptr) {
        value = peer + at;
      } else {
        arithmetic.combine(result, value, peer + at, n);
        value = result;
      }
    }
    if (piece.finish && arithmetic.finishes()) {
      arithmetic.finish(result, value, n);
      value = result;
    }
    if (value != result) memmove(result, value, n * element_size_);
    for (char* peer : to)
      if (peer + at != result) memcpy(peer + at, result, n * element_size_);
  }
}

std::unique_ptr<Primitives> make_primitives(Protocol protocol, const Setting& setting) {
  return protocol == kSimple ? make_simple(setting) : protocol == kLl ? make_ll(setting) : make_ll128(setting);
}

}  // namespace mrc::nccl_rig::player
