// The one place that includes Boost: Asio for the socket, Beast for the protocol.
#include "http.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <thread>

#include "datapath/holder.h"
#include "device/signals.h"

namespace mrc::mrcd {

// How many connections there are, in all and of each origin.
class Visitors {
 public:
  explicit Visitors(const HttpLimits& limits) : limits_(limits) {}
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

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr uint64_t kMostBody = 1 << 20;
constexpr size_t kMostHeader = 16 << 10;
constexpr auto kShortage = std::chrono::milliseconds(100);  // of descriptors: when it is tried again

// One connection; keeps itself alive by the handlers that wait.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const HttpServer::Handler& handler, Visitors* visitors, std::string origin)
      : stream_(std::move(socket)), handler_(handler), visitors_(*visitors), origin_(std::move(origin)) {}
  ~Session() { visitors_.leave(origin_); }

  // The deadlines are for the whole header and for the whole body, however slowly they come.
  void read() {
    parser_.emplace();
    parser_->body_limit(kMostBody);
    parser_->header_limit(kMostHeader);
    stream_.expires_after(visitors_.limits().header);
    http::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->read_body();
    });
  }

 private:
  void read_body() {
    stream_.expires_after(visitors_.limits().visit);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (!error) self->answer();
    });
  }

  void answer() {
    const http::request<http::string_body> request = parser_->release();
    const beast::string_view target = request.target();
    const beast::string_view authorization = request[http::field::authorization], host = request[http::field::host];
    const HttpReply reply =
        asked({std::string(request.method_string()), std::string(target.substr(0, target.find('?'))), request.body(),
               std::string(authorization), std::string(host)});
    response_ = {http::int_to_status(reply.status), request.version()};
    response_.set(http::field::content_type, reply.type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("X-Frame-Options", "DENY");
    response_.keep_alive(request.keep_alive());
    if (request.method() != http::verb::head) response_.body() = reply.body;
    response_.prepare_payload();
    stream_.expires_after(visitors_.limits().visit);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, size_t) {
      if (error) return;
      if (self->response_.keep_alive()) return self->read();
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    });
  }

  // A visitor's request ends nothing but itself.
  HttpReply asked(const HttpRequest& request) const {
    try {
      return handler_(request);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "mrcd: %s %s: %s\n", request.method.c_str(), request.path.c_str(), e.what());
      return {500, "application/json", "{\"error\":\"mrcd could not answer this\"}\n"};
    }
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  boost::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  const HttpServer::Handler& handler_;
  Visitors& visitors_;
  const std::string origin_;
};

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

class HttpServer::Impl {
 public:
  explicit Impl(const HttpLimits& limits) : visitors_(limits) {}
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
    handler_ = std::move(handler);
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
    const device::SignalsBlocked blocked;  // signals are the main thread's
    thread_ = std::thread([this] { context_.run(); });
    return true;
  }
  ~Impl() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  uint16_t port() const {
    beast::error_code error;
    return acceptor_.local_endpoint(error).port();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        std::string origin = origin_of(socket);
        if (visitors_.admit(origin))
          std::make_shared<Session>(std::move(socket), handler_, &visitors_, std::move(origin))->read();
      }
      if (!error) return accept();
      again_.expires_after(kShortage);
      again_.async_wait([this](beast::error_code stopped) {
        if (!stopped) accept();
      });
    });
  }

  Visitors visitors_;  // outlives the context, which ends the last ones
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer again_{context_};
  Handler handler_;
  std::thread thread_;
};

HttpServer::HttpServer(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
HttpServer::~HttpServer() = default;
bool HttpServer::start(const std::string& address, Handler handler, std::string* why) {
  return impl_->start(address, std::move(handler), why);
}
uint16_t HttpServer::port() const {
  return impl_->port();
}

}  // namespace mrc::mrcd
