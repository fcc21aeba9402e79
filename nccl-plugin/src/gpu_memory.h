// GPU memory that the CPU reaches through a mapping: by gdrcopy (libgdrapi.so.2, opened when it is there), or by
// mapping a dma-buf. The device's processor is the CPU, so that a received byte is stored through the mapping, which is
// fast. Reading through it is slow: data to be sent are copied to host memory first, by gdrcopy's own copy where there
// is one, and NCCL is asked to stage sends itself (NCCL_NET_GDR_READ=0, unless it is set).
//
// No CUDA is needed to build or to run this. Threads: as Memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mutex.h"
#include "result.h"

namespace mrc::nccl {

class Gdr;

// A mapping of [data, data + size) of a GPU.
class GpuMapping {
 public:
  static Result<std::unique_ptr<GpuMapping>> of_dma_buf(void* data, size_t size, uint64_t offset, int fd);
  ~GpuMapping();
  GpuMapping(const GpuMapping&) = delete;
  GpuMapping& operator=(const GpuMapping&) = delete;

  void* at(const void* data) const { return static_cast<char*>(mapped_) + (static_cast<const char*>(data) - base_); }
  // Copies to host memory.
  void read(void* to, const void* data, size_t size) const;
  // Returns once what was stored before at `data` is in the GPU's memory.
  void flush(const void* data) const;

 private:
  friend class Gdr;
  GpuMapping() = default;

  const Gdr* gdr_ = nullptr;  // null: a dma-buf
  unsigned long handle_ = 0;  // gdr_mh_t
  const char* base_ = nullptr;
  void* mapped_ = nullptr;
  size_t size_ = 0;
};

// gdrcopy, version 2, whose handle lists are not made for several threads: its calls take turns.
class Gdr {
 public:
  // An error: no library, or no kernel module.
  static Result<std::unique_ptr<Gdr>> open();
  ~Gdr();
  Gdr(const Gdr&) = delete;
  Gdr& operator=(const Gdr&) = delete;

  Result<std::unique_ptr<GpuMapping>> map(void* data, size_t size) const;

 private:
  friend class GpuMapping;
  struct Calls;

  Gdr() = default;
  void release(const GpuMapping& mapping) const;

  mutable Mutex mutex_;
  std::unique_ptr<Calls> calls_;
  void* gdr_ = nullptr;
};

}  // namespace mrc::nccl
