// MailboxMemory: what a queue pair has for the message protocol: the mailbox that its peer writes to and, registered,
// the staging memory from which it sends. Mapped without a reservation, so that pages a connection never uses cost
// nothing.
#pragma once

#include <infiniband/verbs.h>

#include "mailbox/staging_memory.h"
#include "provider/provider.h"

namespace mrc::shim {

class MailboxMemory {
 public:
  explicit MailboxMemory(const Provider& api) : api_(api) {}
  ~MailboxMemory();
  MailboxMemory(const MailboxMemory&) = delete;
  MailboxMemory& operator=(const MailboxMemory&) = delete;
  // In the software device's domain. False and errno.
  [[nodiscard]] bool make(ibv_pd* domain);

  uint8_t* mailbox() const { return memory_; }  // kMailboxBytes
  StagingMemory staging() const { return {memory_ + kMailboxBytes, region_->lkey}; }

 private:
  const Provider& api_;
  uint8_t* memory_ = nullptr;  // the mailbox, then the staging memory
  ibv_mr* region_ = nullptr;   // of the latter
};

}  // namespace mrc::shim
