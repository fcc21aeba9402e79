// Publisher: lets other programs of the same user read what a running process counts. A Unix socket lies at
// FOLDER/mrc-UID/PID.DEVICE; whoever connects is given one text and the end of the stream. Nothing is done while nobody
// asks, and no failure here keeps a device from starting.
//
// What a crash leaves behind is a name that refuses connections; readers remove it, and so does a process that gets the
// same number. The helper thread answers; the rest is called by whoever starts and stops the device.
#pragma once

#include <functional>
#include <string>

namespace mrc::device {

class Publisher {
 public:
  Publisher() = default;
  ~Publisher() { close(); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // False and a sentence when it cannot be.
  bool open(const std::string& folder, const std::string& device, std::string* why);
  void close();
  int fd() const { return fd_; }  // readable when somebody asks; -1: not open
  const std::string& path() const { return path_; }
  // Gives the text to everybody who waits, without waiting for anybody.
  void answer(const std::function<std::string()>& text) const;

 private:
  int fd_ = -1;
  std::string path_;
};

}  // namespace mrc::device
