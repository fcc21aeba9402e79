#include "objects/mailbox_memory.h"

#include <sys/mman.h>

namespace mrc::shim {

namespace {

constexpr size_t kBytes = kMailboxBytes + StagingMemory::kBytes;

}  // namespace

MailboxMemory::~MailboxMemory() {
  if (region_ != nullptr) api_.mrc_soft_dereg_mr(region_);
  if (memory_ != nullptr) munmap(memory_, kBytes);
}

bool MailboxMemory::make(ibv_pd* domain) {
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<uint8_t*>(memory);
  uint8_t* const staging = memory_ + kMailboxBytes;
  region_ = api_.mrc_soft_reg_mr_iova(domain, staging, StagingMemory::kBytes, reinterpret_cast<uint64_t>(staging), 0);
  return region_ != nullptr;
}

}  // namespace mrc::shim
