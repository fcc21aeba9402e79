// Request: what NCCL holds between isend or irecv and the test that says done. Lives in its communicator's pool.
#pragma once

#include "net_abi.h"

namespace mrc::nccl {

class Request {
 public:
  // ncclSuccess with *done 0 or 1; when done, sizes (null: not wanted) are filled in and the request goes back to its
  // pool. An error is final: NCCL does not ask again.
  virtual ncclResult_t test(int* done, int* sizes) = 0;

 protected:
  ~Request() = default;
};

}  // namespace mrc::nccl
