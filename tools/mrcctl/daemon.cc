#include "daemon.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "ctl/printable.h"
#include "device.h"
#include "device/config.h"
#include "device/unix_address.h"
#include "secure_environment.h"

namespace mrcctl {

namespace {

using Json = nlohmann::json;

constexpr int kAnswerTimeoutMs = 5000;

constexpr const char* kSocketVariable = "MRC_MRCD_SOCKET";

// The environment at the start.
const std::optional<std::string>& own_variable() {
  static const std::optional<std::string> value = [] {
    const char* text = mrc::environment::variable(kSocketVariable);
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  }();
  return value;
}

const char* environment(const char* name) {
  if (std::strcmp(name, kSocketVariable) != 0) return mrc::environment::variable(name);
  return own_variable() ? own_variable()->c_str() : nullptr;
}

std::string configured_socket() {
  const mrc::Result<mrc::device::Config> config = mrc::device::load_config(environment);
  if (!config) throw Error(config.error().text);
  return config->devices.front().settings.mrcd_socket;
}

// Programs name themselves, and what mrcd says of them ends on root's terminal.
void make_printable(Json* j) {
  if (j->is_string()) *j = mrc::ctl::printable(j->get<std::string>());
  if (j->is_structured())
    for (Json& part : *j) make_printable(&part);
}

}  // namespace

void keep_devices_out() {
  own_variable();
  ::setenv(kSocketVariable, "", 1);
}

Daemon::Daemon(const std::string& given) {
  const std::string socket = given.empty() ? configured_socket() : given;
  if (socket.empty()) throw Error("the setting mrcd_socket is empty, so no process of this host uses a daemon");
  const auto at = mrc::device::unix_address(socket);
  if (!at) throw Error("'" + socket + "' is too long for the name of a socket");
  fd_ = mrc::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd_ && ::connect(fd_.get(), at->get(), at->length) == 0) return;
  throw Error("no mrcd answers at " + socket + " (" + std::strerror(errno) +
              "): start it with `mrcd`, or name its socket by --socket or MRC_MRCD_SOCKET");
}

Daemon::~Daemon() {
  if (changed_) settle();
}

void Daemon::settle() noexcept {
  try {
    const Json answer = ask({{"do", "save"}});
    if (!answer.value("saved", false))
      std::fprintf(stderr, "mrcctl: done, but mrcd could not write its file: %s\n", answer.value("why", "").c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrcctl: done, but whether mrcd has written its file is not known: %s\n", e.what());
  }
}

std::optional<std::string> Daemon::read_line(int timeout_ms) {
  for (;;) {
    if (const auto line = in_.next()) return std::string(*line);
    pollfd wait{fd_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    std::array<char, 65536> part;
    const ssize_t n = ::recv(fd_.get(), part.data(), part.size(), 0);
    if (n <= 0) return std::nullopt;
    in_.append({part.data(), static_cast<size_t>(n)});
  }
}

mrc::Result<Json> Daemon::request(Json message) {
  const unsigned id = next_request_++;
  const auto what = message.at("do").get<std::string>();
  message["request"] = id;
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t at = 0; at < line.size();) {
    const ssize_t n = ::send(fd_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n <= 0 && errno != EINTR) throw Error("mrcd has ended");
    if (n > 0) at += static_cast<size_t>(n);
  }
  while (const auto text = read_line(kAnswerTimeoutMs)) {
    Json answer = Json::parse(*text, nullptr, false);
    if (!answer.is_object() || answer.value("answer", 0u) != id) continue;
    make_printable(&answer);
    if (const int error = answer.value("error", EIO); error != 0) return mrc::Error{error, answer.value("why", "")};
    if (what == "modify" || what == "port" || what == "deny" || what == "allow") changed_ = true;
    return answer.value("data", Json());
  }
  throw Error("mrcd does not answer");
}

std::string sentence_of(const mrc::Error& error) {
  return error.text.empty() ? std::strerror(error.code) : error.text;
}

Json Daemon::ask(Json message) {
  mrc::Result<Json> answer = request(std::move(message));
  if (!answer) throw Error(sentence_of(answer.error()));
  return *std::move(answer);
}

std::optional<Json> Daemon::next() {
  const std::optional<std::string> line = read_line(-1);
  if (!line) return std::nullopt;
  Json message = Json::parse(*line, nullptr, false);
  make_printable(&message);
  return message;
}

}  // namespace mrcctl
