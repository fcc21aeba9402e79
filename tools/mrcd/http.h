// HttpServer: HTTP/1.1 for a few clients, on mrcd's loop. The handler answers at once or later, by calling the
// function passed to it; an exception that it throws is answered by status 500, unless it has answered before. Only
// the first answer to a request is sent. Used on the loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http_origin.h"
#include "loop.h"
#include "result.h"

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

// Limits of connections. An origin is the user for a client on this host, else the address (of IPv6 its /64 network):
// the connections of one slow origin leave room for the others.
struct HttpLimits {
  size_t connections = 512;
  size_t of_origin = 64;
  std::chrono::milliseconds header{5000};     // for the whole header of a request, and between two requests
  std::chrono::milliseconds transfer{10000};  // for the body, and for receiving the answer
};

class HttpServer {
 public:
  using Reply = std::function<void(HttpReply)>;
  // The request is valid during the call.
  using Handler = std::function<void(const HttpRequest&, Reply)>;
  using OriginOf = std::function<std::optional<std::string>(int socket)>;
  // `origin`: called only for connections for which there is room in total.
  explicit HttpServer(Loop* loop, const HttpLimits& limits = {}, OriginOf origin = origin_of);
  ~HttpServer();
  // "127.0.0.1:9417" or "[::1]:9417"; port 0: any.
  Status start(const std::string& address, Handler handler);
  uint16_t port() const;
  // Accepts no more connections. Requests that have been received are still answered.
  void finish();
  // True if no request waits for its answer, or for the client to receive it.
  bool idle() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc::mrcd
