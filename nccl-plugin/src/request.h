// Request: held by NCCL from isend or irecv until a test reports done. Allocated from its communicator's pool.
#pragma once

#include "net_abi.h"

namespace mrc::nccl {

class Request {
 public:
  // ncclSuccess with *done 0 or 1; when done, sizes (null: not requested) are filled in and the request returns to its
  // pool. An error is final: NCCL does not test again.
  virtual ncclResult_t test(int* done, int* sizes) = 0;

 protected:
  ~Request() = default;
};

}  // namespace mrc::nccl
