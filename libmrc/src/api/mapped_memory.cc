// The kernel's table of mappings is asked for single addresses (PROCMAP_QUERY, Linux 6.11): the cost depends on the
// mappings of the region, not on those of the process. Before, the text of /proc/self/maps was read: 46 ms in a process
// with 47,000 mappings. mincore() walks the pages of the region, and does not report whether it may be written. Older
// kernels have the ends of the region probed.
#include "api/mapped_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "fd.h"

namespace mrc::api {
namespace {

// From linux/fs.h of 6.11, which distributions do not have yet.
struct ProcmapQuery {
  uint64_t size;
  uint64_t query_flags;
  uint64_t query_addr;
  uint64_t vma_start, vma_end, vma_flags;
  uint64_t vma_page_size, vma_offset, inode;
  uint32_t dev_major, dev_minor;
  uint32_t vma_name_size, build_id_size;
  uint64_t vma_name_addr, build_id_addr;
};
static_assert(sizeof(ProcmapQuery) == 104);
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
constexpr uint64_t kReadable = 1, kWritable = 2;

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Adds zero to a word of it, atomically: fails where that may not be written, and changes nothing where it may.
bool writable_at(uint64_t address) {
  uint32_t own = 0;
  const uint64_t word = address & ~uint64_t{3};
  constexpr auto kAddZero = static_cast<uint32_t>(FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0));
  return ::syscall(SYS_futex, &own, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0L, word, kAddZero) >= 0 || errno != EFAULT;
}

bool readable_at(uint64_t address) {
  uint8_t byte;
  iovec to{&byte, 1};
  iovec from{reinterpret_cast<void*>(address), 1};  // NOLINT(performance-no-int-to-ptr)
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

}  // namespace

std::optional<bool> query_mappings(uint64_t start, size_t length, bool writable) {
  const Fd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (!maps) return std::nullopt;
  const uint64_t end = start + length;
  for (uint64_t covered = start; covered < end;) {
    ProcmapQuery query{};
    query.size = sizeof query;
    query.query_addr = covered;
    if (::ioctl(maps.get(), kProcmapQuery, &query) != 0) return errno == ENOENT ? std::optional(false) : std::nullopt;
    if ((query.vma_flags & kReadable) == 0 || (writable && (query.vma_flags & kWritable) == 0)) return false;
    covered = query.vma_end;
  }
  return true;
}

bool probe_memory(uint64_t start, size_t length, bool writable) {
  const uint64_t first = start & ~(page_bytes() - 1), last = start + length - 1;
  // With MS_ASYNC it does nothing but look for holes.
  if (::msync(reinterpret_cast<void*>(first), start + length - first, MS_ASYNC) != 0)
    return false;  // NOLINT(performance-no-int-to-ptr)
  for (const uint64_t at : {start, last})
    if (!readable_at(at) || (writable && !writable_at(at))) return false;
  return true;
}

bool memory_mapped(uint64_t start, size_t length, bool writable) {
  if (length == 0) return true;
  const std::optional<bool> known = query_mappings(start, length, writable);
  return known ? *known : probe_memory(start, length, writable);
}

}  // namespace mrc::api
