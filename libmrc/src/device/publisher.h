// Publisher: makes the counters of a running process readable for other programs of the same user. A Unix socket at
// FOLDER/mrc-UID/PID.DEVICE; a client that connects receives one text and the end of the stream. Without clients there
// is no work, and no failure here prevents a device from starting.
//
// A crash leaves a name that refuses connections; readers remove it, and so does a process with the
// same number. The helper thread answers; the other functions are called by the code that starts and stops the device.
#pragma once

#include <functional>
#include <string>

#include "fd.h"
#include "result.h"

namespace mrc::device {

class Publisher {
 public:
  Publisher() = default;
  ~Publisher() { close(); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // The error is that of the system call, EACCES for a folder that others may enter.
  Status open(const std::string& folder, const std::string& device);
  void close();
  int fd() const { return fd_.get(); }  // readable when a client connects; -1: not open
  const std::string& path() const { return path_; }
  // Sends the text to all waiting clients, without blocking.
  void answer(const std::function<std::string()>& text) const;

 private:
  Fd fd_;
  std::string path_;
};

}  // namespace mrc::device
