// Uncancelled: while it lives this thread is not cancelled; it is at its next cancellation point afterwards.
// [API-THR-1]
#pragma once

#include <pthread.h>

namespace mrc::environment {

class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = 0;
};

}  // namespace mrc::environment
