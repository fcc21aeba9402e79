// Boost.Asio for the socket, Beast for the protocol.
#include "http.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <map>

#include "datapath/holder.h"
#include "log.h"

namespace mrc::mrcd {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

namespace {

constexpr uint64_t kMostBody = 1 << 20;
constexpr size_t kMostHeader = 16 << 10;
constexpr auto kShortage = std::chrono::milliseconds(100);  // of descriptors: when it is tried again

IpAddress to_ip(const asio::ip::address& address) {
  IpAddress ip;
  const asio::ip::address_v6::bytes_type bytes =
      (address.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()) : address.to_v6()).to_bytes();
  std::copy(bytes.begin(), bytes.end(), ip.bytes.begin());
  return ip;
}

// The user where the visitor is on this host, which the kernel knows; else the address.
std::string origin_of(const tcp::socket& socket) {
  beast::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error), own = socket.local_endpoint(error);
  if (error) return "";
  if (peer.address().is_loopback() || peer.address() == own.address())
    if (const auto user = datapath::user_of_connection(to_ip(peer.address()), peer.port(), own.port()))
      return "user " + std::to_string(*user);
  if (!peer.address().is_v6() || peer.address().to_v6().is_v4_mapped()) return peer.address().to_string();
  asio::ip::address_v6::bytes_type network = peer.address().to_v6().to_bytes();
  std::fill(network.begin() + 8, network.end(), uint8_t{0});
  return asio::ip::address_v6(network).to_string() + "/64";
}

bool split(const std::string& text, std::string* address, uint16_t* port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  *address = text.substr(0, colon);
  if (address->size() > 2 && address->front() == '[' && address->back() == ']')
    *address = address->substr(1, address->size() - 2);
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, *port);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

}  // namespace

// How many connections there are, in total and of each origin.
class HttpVisitors {
 public:
  explicit HttpVisitors(const HttpLimits& limits) : limits_(limits) {}
  const HttpLimits& limits() const { return limits_; }
  bool admit(const std::string& origin) {
    if (count_ >= limits_.connections || of_[origin] >= limits_.of_origin) return false;
    ++count_;
    ++of_[origin];
    return true;
  }
  void leave(const std::string& origin) {
    --count_;
    if (--of_[origin] == 0) of_.erase(origin);
  }

 private:
  const HttpLimits limits_;
  size_t count_ = 0;
  std::map<std::string, size_t> of_;
};

// What the server and its sessions share: a reply that is still outstanding may keep a session longer than the server.
struct HttpShared {
  HttpVisitors visitors;
  HttpServer::Handler handler;
};

// One connection; the handlers that wait keep it alive.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(tcp::socket socket, std::shared_ptr<HttpShared> shared, std::string origin)
      : stream_(std::move(socket)), shared_(std::move(shared)), origin_(std::move(origin)) {}
  ~HttpSession() { shared_->visitors.leave(origin_); }

  // The deadlines are for the whole header and for the whole body, however slowly they arrive.
  void read() {
    parser_.emplace();
    parser_->body_limit(kMostBody);
    parser_->header_limit(kMostHeader);
    stream_.expires_after(limits().header);
    http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->read_body();
    });
  }

 private:
  const HttpLimits& limits() const { return shared_->visitors.limits(); }

  void read_body() {
    stream_.expires_after(limits().visit);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->handle();
    });
  }

  // A request that fails ends nothing but itself.
  void handle() {
    const http::request<http::string_body> request = parser_->release();
    const beast::string_view target = request.target();
    const beast::string_view authorization = request[http::field::authorization], host = request[http::field::host];
    response_ = {http::status::ok, request.version()};
    response_.keep_alive(request.keep_alive());
    without_body_ = request.method() == http::verb::head;
    const HttpRequest given{std::string(request.method_string()), std::string(target.substr(0, target.find('?'))),
                            request.body(), std::string(authorization), std::string(host)};
    try {
      shared_->handler(given, [self = shared_from_this()](HttpReply reply) { self->answer(std::move(reply)); });
    } catch (const std::exception& e) {
      log_warning(given.method + " " + given.path + ": " + e.what());
      answer({500, "application/json", "{\"error\":\"mrcd could not answer this\"}\n"});
    }
  }

  void answer(HttpReply reply) {
    response_.result(reply.status);
    response_.set(http::field::content_type, reply.type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("X-Frame-Options", "DENY");
    if (!without_body_) response_.body() = std::move(reply.body);
    response_.prepare_payload();
    stream_.expires_after(limits().visit);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (error) return;
      if (self->response_.keep_alive()) return self->read();
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  boost::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  bool without_body_ = false;
  const std::shared_ptr<HttpShared> shared_;
  const std::string origin_;
};

class HttpServer::Impl {
 public:
  Impl(Loop* loop, const HttpLimits& limits)
      : acceptor_(loop->context()),
        again_(loop->context()),
        shared_(std::make_shared<HttpShared>(HttpShared{HttpVisitors(limits), nullptr})) {}
  bool start(const std::string& at, Handler handler, std::string* why) {
    std::string address;
    uint16_t port = 0;
    beast::error_code error;
    asio::ip::address parsed;
    if (split(at, &address, &port)) parsed = asio::ip::make_address(address, error);
    if (address.empty() || error) {
      *why = "mrcd_http: '" + at + "' is no ADDRESS:PORT";
      return false;
    }
    shared_->handler = std::move(handler);
    const tcp::endpoint endpoint(parsed, port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      *why = "mrcd_http: " + at + ": " + error.message();
      if (error == asio::error::address_in_use)
        *why += datapath::taken_by(datapath::holder_of_tcp_port(to_ip(parsed), port));
      return false;
    }
    accept();
    return true;
  }
  uint16_t port() const {
    beast::error_code error;
    return acceptor_.local_endpoint(error).port();
  }

 private:
  void accept() {
    acceptor_.async_accept([this, alive = std::weak_ptr(alive_)](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || alive.expired()) return;
      if (!error) {
        std::string origin = origin_of(socket);
        if (shared_->visitors.admit(origin))
          std::make_shared<HttpSession>(std::move(socket), shared_, std::move(origin))->read();
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
  const std::shared_ptr<HttpShared> shared_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // an accept may have come when this goes
};

HttpServer::HttpServer(Loop* loop, const HttpLimits& limits) : impl_(std::make_unique<Impl>(loop, limits)) {}
HttpServer::~HttpServer() = default;
bool HttpServer::start(const std::string& address, Handler handler, std::string* why) {
  return impl_->start(address, std::move(handler), why);
}
uint16_t HttpServer::port() const {
  return impl_->port();
}

}  // namespace mrc::mrcd
