// HttpServer: HTTP/1.1 for a few visitors, on mrcd's loop. The handler answers at once or later, by calling the
// function that it is given; an exception that it throws is answered by status 500. Used on the loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "loop.h"

namespace mrc::mrcd {

struct HttpRequest {
  std::string method, path, body;
  std::string authorization, host;  // headers of these names
};
struct HttpReply {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
};

// What visitors may hold. An origin is the user for a visitor on this host, else the address (of IPv6 its /64 network):
// the connections of one origin, however slow it is, leave room for the others.
struct HttpLimits {
  size_t connections = 512;
  size_t of_origin = 64;
  std::chrono::milliseconds header{5000};  // for the whole header of a request, and between two requests
  std::chrono::milliseconds visit{10000};  // for the body, and for taking the answer
};

class HttpServer {
 public:
  using Reply = std::function<void(HttpReply)>;
  // The request is valid during the call.
  using Handler = std::function<void(const HttpRequest&, Reply)>;
  explicit HttpServer(Loop* loop, const HttpLimits& limits = {});
  ~HttpServer();
  // "127.0.0.1:9417" or "[::1]:9417"; port 0: any. False and a sentence.
  bool start(const std::string& address, Handler handler, std::string* why);
  uint16_t port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc::mrcd
