// Boost.Asio for the socket, Beast for the protocol.
#include "http.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <map>
#include <optional>

#include "datapath/holder.h"
#include "invariant.h"
#include "log.h"

namespace mrc::mrcd {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

namespace {

constexpr uint64_t kMaxBody = 1 << 20;
constexpr size_t kMaxHeader = 16 << 10;
constexpr size_t kDrained = 4096;  // bytes at a time
constexpr unsigned kHttp11 = 11;
constexpr auto kShortage = std::chrono::milliseconds(100);  // of descriptors: when it is tried again

IpAddress to_ip(const asio::ip::address& address) {
  IpAddress ip;
  const asio::ip::address_v6::bytes_type bytes =
      (address.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()) : address.to_v6()).to_bytes();
  std::copy(bytes.begin(), bytes.end(), ip.bytes.begin());
  return ip;
}

// "127.0.0.1:9417", "[::1]:9417"; port 0 means any free one. Nothing where either half does not parse: an
// address that is left at its default would be that of all interfaces.
std::optional<tcp::endpoint> endpoint_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string address = text.substr(0, colon);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  beast::error_code error;
  const asio::ip::address ip = asio::ip::make_address(address, error);
  if (error) return std::nullopt;
  return tcp::endpoint(ip, port);
}

}  // namespace

// Number of connections, in total and of each origin.
class HttpConnectionCount {
 public:
  explicit HttpConnectionCount(const HttpLimits& limits) : limits_(limits) {}
  const HttpLimits& limits() const { return limits_; }
  bool full() const { return count_ >= limits_.connections; }
  bool admit(const std::string& origin) {
    if (full()) return false;
    const auto at = of_.try_emplace(origin, 0).first;
    if (at->second >= limits_.of_origin) return false;
    ++count_;
    ++at->second;
    check();
    return true;
  }
  void leave(const std::string& origin) {
    --count_;
    if (--of_[origin] == 0) of_.erase(origin);
    check();
  }

 private:
  void check() const {
    if constexpr (!kCheckInvariants) return;
    if (!pace_.due(of_.size())) return;
    size_t sum = 0;
    for (const auto& [origin, count] : of_) {
      MRC_INVARIANT(count > 0 && count <= limits_.of_origin);
      sum += count;
    }
    MRC_INVARIANT(sum == count_);
  }

  const HttpLimits limits_;
  size_t count_ = 0;
  std::map<std::string, size_t> of_;
  mutable InvariantPace pace_;
};

// State shared by the server and its sessions: an outstanding reply may keep a session longer than the server.
struct HttpShared {
  HttpConnectionCount connections;
  HttpServer::Handler handler;
  size_t unanswered = 0;  // requests whose answer was not sent completely
};

// One connection; the handlers that wait keep it alive.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(tcp::socket socket, std::shared_ptr<HttpShared> shared, std::string origin)
      : stream_(std::move(socket)), shared_(std::move(shared)), origin_(std::move(origin)) {}
  ~HttpSession() {
    if (unanswered_) --shared_->unanswered;
    shared_->connections.leave(origin_);
  }

  // The deadlines are for the whole header and for the whole body, however slowly they arrive.
  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxBody);
    parser_->header_limit(kMaxHeader);
    stream_.expires_after(limits().header);
    http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      error ? self->refuse(error) : self->read_body();
    });
  }

 private:
  const HttpLimits& limits() const { return shared_->connections.limits(); }

  void read_body() {
    stream_.expires_after(limits().transfer);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      error ? self->refuse(error) : self->handle();
    });
  }

  // A malformed request is answered, and ends the connection, because the next one cannot be found behind it. An end of
  // the connection and a deadline are not answered.
  void refuse(beast::error_code error) {
    if (error.category() != beast::error_code(http::error::bad_value).category() ||
        error == http::error::end_of_stream || error == http::error::partial_message)
      return;
    const auto status = error == http::error::header_limit ? http::status::request_header_fields_too_large
                        : error == http::error::body_limit ? http::status::payload_too_large
                                                           : http::status::bad_request;
    drains_ = true;
    expect_answer({http::status::ok, kHttp11}, false, false);
    answer(requests_, {static_cast<unsigned>(status), "application/json",
                       "{\"error\":\"malformed or too large request: " + error.message() + "\"}\n"});
  }

  void expect_answer(http::response<http::string_body> response, bool keep_alive, bool without_body) {
    response_ = std::move(response);
    response_.keep_alive(keep_alive);
    without_body_ = without_body;
    ++requests_;
    awaits_answer_ = unanswered_ = true;
    ++shared_->unanswered;
  }

  // A failing request has no effect on others.
  void handle() {
    const http::request<http::string_body> request = parser_->release();
    const beast::string_view target = request.target();
    const beast::string_view authorization = request[http::field::authorization], host = request[http::field::host];
    expect_answer({http::status::ok, request.version()}, request.keep_alive(), request.method() == http::verb::head);
    const uint64_t number = requests_;
    const HttpRequest given{std::string(request.method_string()), std::string(target.substr(0, target.find('?'))),
                            request.body(), std::string(authorization), std::string(host)};
    try {
      shared_->handler(
          given, [self = shared_from_this(), number](HttpReply reply) { self->answer(number, std::move(reply)); });
    } catch (const std::exception& e) {
      log_warning(given.method + " " + given.path + ": " + e.what());
      answer(number, {500, "application/json", "{\"error\":\"mrcd could not answer this\"}\n"});
    }
  }

  // A second answer to a request, which may arrive after the next request, is ignored.
  void answer(uint64_t number, HttpReply reply) {
    if (number != requests_ || !awaits_answer_) return;
    awaits_answer_ = false;
    response_.result(reply.status);
    response_.set(http::field::content_type, reply.type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("X-Frame-Options", "DENY");
    response_.content_length(reply.body.size());  // of HEAD as of GET
    if (!without_body_) response_.body() = std::move(reply.body);
    stream_.expires_after(limits().transfer);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (error) return;
      self->unanswered_ = false;
      --self->shared_->unanswered;
      if (self->response_.keep_alive()) return self->read();
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, error);
      if (self->drains_) self->drain();
    });
  }

  // Reads and ignores the rest of a malformed request until the client closes or the deadline of the answer: closing
  // the socket before would reset the connection, and the client might lose the answer.
  void drain() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kDrained), [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->drain();
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  boost::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  bool without_body_ = false;
  bool drains_ = false;         // after the answer
  uint64_t requests_ = 0;       // received; only the last one may be unanswered
  bool awaits_answer_ = false;  // of the handler
  bool unanswered_ = false;     // until the client has received the answer
  const std::shared_ptr<HttpShared> shared_;
  const std::string origin_;
};

class HttpServer::Impl {
 public:
  Impl(Loop* loop, const HttpLimits& limits, OriginOf origin)
      : acceptor_(loop->context()),
        again_(loop->context()),
        origin_of_(std::move(origin)),
        shared_(std::make_shared<HttpShared>(HttpShared{HttpConnectionCount(limits), nullptr})) {}
  Status start(const std::string& at, Handler handler) {
    const auto endpoint = endpoint_of(at);
    if (!endpoint) return invalid("'" + at + "' is no ADDRESS:PORT");
    shared_->handler = std::move(handler);
    beast::error_code error;
    acceptor_.open(endpoint->protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(*endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      Error failure{error.value(), at + ": " + error.message()};
      if (error == asio::error::address_in_use)
        failure.text += datapath::taken_by(datapath::holder_of_tcp_port(to_ip(endpoint->address()), endpoint->port()));
      return failure;
    }
    accept();
    return {};
  }
  uint16_t port() const {
    beast::error_code error;
    return acceptor_.local_endpoint(error).port();
  }
  void finish() {
    beast::error_code ignored;
    acceptor_.close(ignored);
    again_.cancel();
  }
  bool idle() const { return shared_->unanswered == 0; }

 private:
  void admit(tcp::socket socket) {
    if (shared_->connections.full()) return;
    const auto origin = origin_of_(socket.native_handle());
    if (origin && shared_->connections.admit(*origin))
      std::make_shared<HttpSession>(std::move(socket), shared_, *origin)->read();
  }
  void accept() {
    acceptor_.async_accept([this, alive = std::weak_ptr(alive_)](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || alive.expired()) return;
      if (!error) {
        admit(std::move(socket));
        return accept();
      }
      again_.expires_after(kShortage);
      again_.async_wait([this, alive](beast::error_code stopped) {
        if (!stopped && !alive.expired()) accept();
      });
    });
  }

  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  const OriginOf origin_of_;
  const std::shared_ptr<HttpShared> shared_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // an accept may have completed when this is destroyed
};

HttpServer::HttpServer(Loop* loop, const HttpLimits& limits, OriginOf origin)
    : impl_(std::make_unique<Impl>(loop, limits, std::move(origin))) {}
HttpServer::~HttpServer() = default;
Status HttpServer::start(const std::string& address, Handler handler) {
  return impl_->start(address, std::move(handler));
}
uint16_t HttpServer::port() const {
  return impl_->port();
}
void HttpServer::finish() {
  impl_->finish();
}
bool HttpServer::idle() const {
  return impl_->idle();
}

}  // namespace mrc::mrcd
