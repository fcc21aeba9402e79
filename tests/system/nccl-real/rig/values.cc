#include "rig/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/nccl_api.h"
#include "player/number_formats.h"

namespace mrc::nccl_rig {

namespace {

using player::Bfloat16;
using player::Float8e4m3;
using player::Float8e5m2;
using player::Half;

unsigned hash(size_t index, int rank, unsigned seed) {
  auto h = static_cast<uint32_t>(index) * 2654435761u ^ (static_cast<uint32_t>(rank) * 40503u + seed) * 2246822519u;
  h ^= h >> 15;
  h *= 2246822519u;
  return h >> 16;
}

bool integer(int type) {
  return type <= kUint64;
}
bool unsigned_type(int type) {
  return type == kUint8 || type == kUint32 || type == kUint64;
}
bool narrow(int type) {
  return type == kFloat8e4m3 || type == kFloat8e5m2;
}

// Values 0 to this, minus one: sums of 8 of them are exact in the type.
unsigned range(int type) {
  if (narrow(type)) return 2;
  if (type == kInt8 || type == kUint8) return 8;
  return type == kBfloat16 ? 16 : 100;
}

template <typename T>
T convert(double value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return T::from(static_cast<float>(value));
}
template <typename T>
double back(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(value.widen());
}

template <typename Work>
void with_type(int type, Work work) {
  switch (type) {
    case kInt8:
      return work(int8_t{});
    case kUint8:
      return work(uint8_t{});
    case kInt32:
      return work(int32_t{});
    case kUint32:
      return work(uint32_t{});
    case kInt64:
      return work(int64_t{});
    case kUint64:
      return work(uint64_t{});
    case kFloat16:
      return work(Half{});
    case kFloat32:
      return work(float{});
    case kFloat64:
      return work(double{});
    case kBfloat16:
      return work(Bfloat16{});
    case kFloat8e4m3:
      return work(Float8e4m3{});
    default:
      return work(Float8e5m2{});
  }
}

}  // namespace

double input_value(int type, int op, int rank, size_t index, unsigned seed) {
  const unsigned h = hash(index, rank, seed);
  if (op == kProd) return h % 4 == 0 ? 2 : 1;
  if (op == kMin || op == kMax) return static_cast<int>(h % 15) - (unsigned_type(type) ? 0 : 7);
  return h % range(type);
}

double reduced_value(int type, int op, int ranks, size_t index, unsigned seed) {
  double result = input_value(type, op, 0, index, seed);
  for (int r = 1; r < ranks; ++r) {
    const double value = input_value(type, op, r, index, seed);
    result = op == kProd  ? result * value
             : op == kMin ? std::min(result, value)
             : op == kMax ? std::max(result, value)
                          : result + value;
  }
  if (op == kAvg) result = integer(type) ? std::trunc(result / ranks) : result / ranks;
  if (op == kProd && (type == kInt8 || type == kUint8)) {  // wraps
    const auto wrapped = static_cast<uint8_t>(static_cast<unsigned>(result));
    result = type == kInt8 ? static_cast<int8_t>(wrapped) : wrapped;
  }
  return result;
}

double tolerance(int type, int op, int ranks) {
  if (op != kAvg || integer(type)) return 0;
  const double half_unit = type == kFloat8e5m2   ? 1.0 / 8
                           : type == kFloat8e4m3 ? 1.0 / 16
                           : type == kBfloat16   ? 1.0 / 256
                           : type == kFloat16    ? 1.0 / 2048
                                                 : 1.0 / (1 << 24);
  return half_unit * (ranks + 1);
}

void fill(char* buffer, size_t count, int type, const std::function<double(size_t)>& value) {
  with_type(type, [&](auto kind) {
    auto* elements = reinterpret_cast<decltype(kind)*>(buffer);
    for (size_t i = 0; i < count; ++i) elements[i] = convert<decltype(kind)>(value(i));
  });
}

size_t compare(const char* buffer, size_t count, int type, const std::function<double(size_t)>& value,
               double tolerance) {
  size_t wrong = 0;
  with_type(type, [&](auto kind) {
    const auto* elements = reinterpret_cast<const decltype(kind)*>(buffer);
    for (size_t i = 0; i < count; ++i) {
      const double expected = value(i), found = back(elements[i]);
      if (!(std::fabs(found - expected) <= tolerance * std::fabs(expected))) ++wrong;
    }
  });
  return wrong;
}

}  // namespace mrc::nccl_rig
