// Protection domains, parent domains, thread domains, memory regions and address handles: the shim's additions to
// those of the software device.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "objects/context.h"

namespace mrc::shim {

// A protection domain, or a parent domain over one.
class Pd {
 public:
  static ibv_pd* create(Context* context);
  static ibv_pd* create_parent(Context* context, ibv_pd* of);
  static int destroy(ibv_pd* pd);
  static Pd* of(ibv_pd* pd) { return reinterpret_cast<Handle*>(pd)->self; }
  Context* context() const { return context_; }
  ibv_pd* soft() const { return soft_; }
  Pd* root() { return parent_ != nullptr ? parent_ : this; }  // the domain that keys belong to
  std::atomic<int> users{0};

 private:
  struct Handle {
    ibv_pd base;
    Pd* self;
  };
  bool register_handle();  // to the MRC functions
  Context* context_ = nullptr;
  ibv_pd* soft_ = nullptr;
  Pd* parent_ = nullptr;
  Handle handle_{};
};

// A memory region: the application's key, and, after the first use, the landing key.
class Mr final : public LandingOwner {
 public:
  static ibv_mr* create(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access);
  static int destroy(ibv_mr* mr);
  // As ibv_rereg_mr: 0, or an ibv_rereg_mr_err_code and errno. The region stays as it was upon failure; its keys are
  // others upon success.
  static int reregister(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access);
  uint32_t make_landing() override;

 private:
  struct Handle {
    ibv_mr base;
    Mr* self;
  };
  // Registers with libmrc, and under the new key in the context's table, there without an owner. Null and errno.
  static ibv_mr* add(Pd* domain, void* addr, size_t length, uint64_t iova, int access);
  int release();                                                   // all that add() and make_landing() have made
  void take(ibv_pd* pd, ibv_mr* soft, uint64_t iova, int access);  // becomes the region that add() made, and its owner

  Pd* pd_ = nullptr;
  ibv_mr* soft_ = nullptr;
  ibv_mr* landing_ = nullptr;
  uint64_t iova_ = 0;
  int access_ = 0;
  Handle handle_{};
};

}  // namespace mrc::shim
