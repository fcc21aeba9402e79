#include "player/reduce.h"

#include <cstring>
#include <type_traits>

#include "cuda/fatal.h"
#include "cuda/nccl_api.h"
#include "player/number_formats.h"

namespace mrc::nccl_rig::player {

namespace {

template <typename T>
constexpr bool kSmall = !std::is_arithmetic_v<T>;

// The type in which an operator computes: sums of integers wrap, so they are unsigned.
template <typename T>
auto wide(T value) {
  if constexpr (kSmall<T>)
    return value.widen();
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::make_unsigned_t<T>>(value);
  else
    return value;
}
template <typename T, typename W>
T narrow(W value) {
  if constexpr (kSmall<T>)
    return T::from(value);
  else
    return static_cast<T>(value);
}

template <typename T>
T min_max(T a, T b, uint64_t argument) {
  if constexpr (std::is_integral_v<T>) {
    // The argument turns the order round, and makes signed numbers comparable as unsigned ones.
    const auto mask = static_cast<std::make_unsigned_t<T>>(argument);
    using U = std::make_unsigned_t<T>;
    return (static_cast<U>(a) ^ mask) < (static_cast<U>(b) ^ mask) ? a : b;
  } else {
    const bool minimum = (argument & 1) == 0;
    return (wide(a) < wide(b)) == minimum ? a : b;
  }
}

template <typename T>
void combine_typed(DeviceOp op, uint64_t argument, T* to, const T* a, const T* b, size_t n) {
  switch (op) {
    case kDevSum:
    case kDevPreMulSum:
    case kDevSumPostDiv:
      for (size_t i = 0; i < n; ++i) to[i] = narrow<T>(wide(a[i]) + wide(b[i]));
      return;
    case kDevProd:
      for (size_t i = 0; i < n; ++i) to[i] = narrow<T>(wide(a[i]) * wide(b[i]));
      return;
    case kDevMinMax:
      for (size_t i = 0; i < n; ++i) to[i] = min_max(a[i], b[i], argument);
      return;
    default:
      fatal("an operator with number %d", op);
  }
}

template <typename T>
void prepare_typed(uint64_t argument, T* to, const T* a, size_t n) {
  T scale;
  memcpy(static_cast<void*>(&scale), &argument, sizeof scale);
  for (size_t i = 0; i < n; ++i) to[i] = narrow<T>(wide(a[i]) * wide(scale));
}

template <typename T>
void finish_typed(uint64_t argument, T* to, const T* a, size_t n) {
  if constexpr (std::is_integral_v<T>) {
    const auto divisor = argument >> 1;
    if (argument & 1) {
      using S = std::make_signed_t<T>;
      for (size_t i = 0; i < n; ++i) to[i] = static_cast<T>(static_cast<S>(a[i]) / static_cast<int64_t>(divisor));
    } else {
      for (size_t i = 0; i < n; ++i) to[i] = static_cast<T>(a[i] / divisor);
    }
  } else {
    fatal("an average of floating-point numbers by division");
  }
}

// Calls `work` with a null pointer of the type's kind.
template <typename Work>
void with_type(int type, Work work) {
  switch (type) {
    case kInt8:
      return work(static_cast<int8_t*>(nullptr));
    case kUint8:
      return work(static_cast<uint8_t*>(nullptr));
    case kInt32:
      return work(static_cast<int32_t*>(nullptr));
    case kUint32:
      return work(static_cast<uint32_t*>(nullptr));
    case kInt64:
      return work(static_cast<int64_t*>(nullptr));
    case kUint64:
      return work(static_cast<uint64_t*>(nullptr));
    case kFloat16:
      return work(static_cast<Half*>(nullptr));
    case kFloat32:
      return work(static_cast<float*>(nullptr));
    case kFloat64:
      return work(static_cast<double*>(nullptr));
    case kBfloat16:
      return work(static_cast<Bfloat16*>(nullptr));
    case kFloat8e4m3:
      return work(static_cast<Float8e4m3*>(nullptr));
    case kFloat8e5m2:
      return work(static_cast<Float8e5m2*>(nullptr));
    default:
      fatal("a type with number %d", type);
  }
}

}  // namespace

size_t type_size(int type) {
  size_t size = 0;
  with_type(type, [&](auto* none) { size = sizeof *none; });
  return size;
}

void Arithmetic::combine(void* to, const void* a, const void* b, size_t elements) const {
  with_type(type, [&](auto* none) {
    using T = std::remove_pointer_t<decltype(none)>;
    combine_typed(op, argument, static_cast<T*>(to), static_cast<const T*>(a), static_cast<const T*>(b), elements);
  });
}

void Arithmetic::prepare(void* to, const void* a, size_t elements) const {
  with_type(type, [&](auto* none) {
    using T = std::remove_pointer_t<decltype(none)>;
    prepare_typed(argument, static_cast<T*>(to), static_cast<const T*>(a), elements);
  });
}

void Arithmetic::finish(void* to, const void* a, size_t elements) const {
  with_type(type, [&](auto* none) {
    using T = std::remove_pointer_t<decltype(none)>;
    finish_typed(argument, static_cast<T*>(to), static_cast<const T*>(a), elements);
  });
}

}  // namespace mrc::nccl_rig::player
