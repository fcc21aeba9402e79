// HttpServer: HTTP/1.1 for a few visitors, on a thread of its own. What is answered is the handler's matter; it is
// called on that thread, one request at a time, and may wait. What it throws is answered by 500.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

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

class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;
  HttpServer();
  ~HttpServer();  // ends the thread
  // "127.0.0.1:9417" or "[::1]:9417"; port 0: any. False and a sentence.
  bool start(const std::string& address, Handler handler, std::string* why);
  uint16_t port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mrc::mrcd
