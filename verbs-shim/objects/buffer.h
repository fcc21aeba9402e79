// Buffers of ibv_alloc_buf: page-aligned memory of this process that is registered later. The handle is opaque to
// programs and carries no context, so ours are distinguished from libibverbs' by address. Any thread.
#pragma once

#include <cstddef>

struct ibv_buf;
struct ibv_pd;

namespace mrc::shim {

// The memory, and its handle in *buf. Null and errno: EINVAL (size 0), ENOMEM.
void* allocate_buffer(const ibv_pd* pd, size_t size, ibv_buf** buf);
bool is_our_buffer(const ibv_buf* buf);
// True if `length` bytes from `addr` lie in this buffer of ours and of that domain.
bool buffer_contains(const ibv_pd* pd, const ibv_buf* buf, const void* addr, size_t length);
void free_buffer(ibv_buf* buf);  // one of ours

}  // namespace mrc::shim
