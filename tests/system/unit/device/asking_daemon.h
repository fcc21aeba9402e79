// A daemon that is the test itself: devices connect to its socket as to that of mrcd.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ctl/messages.h"
#include "fd.h"

namespace mrc::device {

// The socket of a daemon that asks for reports, and sends what a test gives it.
class AskingDaemon {
 public:
  AskingDaemon() {
    char name[] = "/tmp/mrc-asking-XXXXXX";
    folder_ = ::mkdtemp(name);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path().c_str(), sizeof at.sun_path - 1);
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
  }
  ~AskingDaemon() { std::filesystem::remove_all(folder_); }
  AskingDaemon(const AskingDaemon&) = delete;
  AskingDaemon& operator=(const AskingDaemon&) = delete;

  std::string path() const { return folder_ + "/mrcd.sock"; }
  void accept() { link_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  void drop() { link_ = Fd(); }
  void ask(int token) { send(nlohmann::json{{"want", token}}.dump()); }
  void send(std::string line) {
    line += '\n';
    EXPECT_EQ(::send(link_.get(), line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  }
  // The next report; none: the connection has ended.
  std::optional<ctl::ReportAnswer> report() {
    std::string line;
    for (char c; ::recv(link_.get(), &c, 1, 0) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      const nlohmann::json message = nlohmann::json::parse(line);
      if (message.contains("report")) return message["report"].get<ctl::ReportAnswer>();
      line.clear();
    }
    return std::nullopt;
  }

 private:
  std::string folder_;
  Fd listener_, link_;
};

}  // namespace mrc::device
