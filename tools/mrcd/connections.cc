#include "connections.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "ctl/peer_json.h"
#include "datapath/holder.h"
#include "device/unix_address.h"

namespace mrc::mrcd {

namespace {

constexpr int kBacklog = 64;
constexpr size_t kMostConnections = 4096;
constexpr size_t kMostOfUser = 256;  // who may not change anything
constexpr size_t kMostLine = size_t{1} << 20;
constexpr size_t kMostLongLine = size_t{1} << 24;       // reports, and whom we trust
constexpr size_t kMostUnread = size_t{1} << 20;         // of answers: who does not read them may not ask on
constexpr Duration kFirstLine = Duration::seconds(10);  // until its end; programs of ours send it at once
constexpr size_t kMostQueued = size_t{1} << 24;         // who does not read at all is dropped with the next message

bool fail(const std::string& what, std::string* why) {
  *why = what + ": " + std::strerror(errno);
  return false;
}

}  // namespace

// Sends what it can at once and the rest when the loop says so. A connection that fails is dropped from the loop, not
// from inside send(), because the service may be in the middle of telling everybody. What a peer can make us keep is
// limited both ways: the length of a line, and answers that it does not read.
class Connections::Connection final : public Client {
 public:
  Connection(Connections* owner, int fd, const Peer& peer) : owner_(*owner), fd_(fd), peer_(peer) {
    id_ = owner_.service_.connect(this, peer);
    watch();
  }
  ~Connection() {
    owner_.loop_.unwatch(fd_);
    owner_.service_.disconnect(id_);
    ::close(fd_);
  }
  int fd() const { return fd_; }
  const Peer& peer() const { return peer_; }
  // Connected, and nothing that could be answered has come.
  bool is_overdue(Instant now) const { return !heard_ && now - since_ > kFirstLine; }

  void send(const nlohmann::json& message) override {
    if (failed_) return;
    if (unread() > kMostQueued) return fail();
    out_ += message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out_ += '\n';
    flush();
    watch();
  }

 private:
  size_t unread() const { return out_.size() - sent_; }
  bool may_ask() const { return unread() <= kMostUnread; }

  // A failed one is readable at once: shut down, it ends in ready().
  void fail() {
    failed_ = true;
    out_.clear();
    sent_ = 0;
    ::shutdown(fd_, SHUT_RDWR);
    watch();
  }

  void watch() {
    const int events = (may_ask() ? POLLIN : 0) | (unread() != 0 ? POLLOUT : 0);
    owner_.loop_.watch(fd_, static_cast<short>(events), [this](short) { ready(); });
  }

  void flush() {
    while (unread() != 0) {
      const ssize_t n = ::send(fd_, out_.data() + sent_, unread(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) {
        sent_ += static_cast<size_t>(n);
      } else if (errno == EAGAIN) {
        if (sent_ <= kMostUnread) return;
        out_.erase(0, sent_);  // who reads all the time and is never done
        sent_ = 0;
        return;
      } else if (errno != EINTR) {
        return fail();
      }
    }
    out_.clear();
    sent_ = 0;
  }

  // One part at a time: who sends without a pause does not keep the others waiting.
  void ready() {
    flush();
    take_lines();  // that waited until there was room for answers
    bool there = !failed_;
    if (there && may_ask()) {
      std::array<char, 65536> part;
      const ssize_t n = ::recv(fd_, part.data(), part.size(), MSG_DONTWAIT);
      there = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
      if (n > 0) in_.append(part.data(), static_cast<size_t>(n));
      take_lines();
    }
    if (!there || failed_ || (searched_ == in_.size() && in_.size() > longest_line()))
      owner_.drop(this);  // which ends this object
    else
      watch();
  }

  size_t longest_line() const {
    return peer_.privileged || owner_.service_.awaits_report(id_, steady_now()) ? kMostLongLine : kMostLine;
  }

  // `searched_`: so far there is no end of a line; a long one is not searched anew with each of its parts.
  void take_lines() {
    size_t begin = 0;
    while (!failed_ && may_ask()) {
      const size_t end = in_.find('\n', std::max(begin, searched_));
      searched_ = end == std::string::npos ? in_.size() : end + 1;
      if (end == std::string::npos) break;
      const std::string_view line(in_.data() + begin, end - begin);
      heard_ = true;
      begin = end + 1;
      owner_.service_.message(id_, ctl::parse_peer_json(line), steady_now());
    }
    in_.erase(0, begin);
    searched_ -= std::min(begin, searched_);
    if (in_.empty()) in_ = std::string();  // what a long line took
  }

  Connections& owner_;
  const int fd_;
  const Peer peer_;
  ClientId id_ = 0;
  std::string in_, out_;
  size_t searched_ = 0, sent_ = 0;
  bool failed_ = false, heard_ = false;
  const Instant since_ = steady_now();
};

Connections::Connections(Loop* loop, Service* service, std::string group)
    : loop_(*loop), service_(*service), group_(std::move(group)) {}

Connections::~Connections() {
  connections_.clear();
  if (listening_ >= 0) {
    loop_.unwatch(listening_);
    ::close(listening_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  if (lock_ >= 0) ::close(lock_);
}

// The file stays, the lock goes with the process: removing the file would let two daemons hold locks on two files of
// one name.
bool Connections::lock(const std::string& socket, std::string* why, bool* busy) {
  const std::string folder = socket.substr(0, socket.rfind('/') + 1);
  if (!folder.empty() && ::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return fail(folder, why);
  const std::string file = socket + ".lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ < 0) {
    fail(file, why);
    *why += datapath::taken_by(datapath::holder_of_file(file));
    return false;
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return true;
  *busy = errno == EWOULDBLOCK;
  *why = *busy ? "another mrcd holds " + file + datapath::taken_by(datapath::holder_of_lock(lock_))
               : file + ": " + std::strerror(errno);
  return false;
}

bool Connections::listen(const std::string& socket, std::string* why, bool* busy) {
  *busy = false;
  sockaddr_un at;
  socklen_t length;
  if (!device::unix_address(socket, &at, &length)) {
    *why = "'" + socket + "' is too long for the name of a socket";
    return false;
  }
  const bool is_file = socket[0] != '@';
  if (is_file && !lock(socket, why, busy)) return false;
  listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listening_ < 0) return fail("socket", why);
  // With the lock in our hands a socket of that name is what a killed daemon left. Anything else is somebody's, and the
  // setting a mistake.
  if (struct stat there; is_file && ::lstat(socket.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      *why = socket + " is there already and is no socket: mrcd does not replace it";
      return false;
    }
    ::unlink(socket.c_str());
  }
  if (::bind(listening_, reinterpret_cast<const sockaddr*>(&at), length) != 0) {
    *busy = errno == EADDRINUSE;
    fail(socket, why);
    if (*busy) *why += datapath::taken_by(datapath::holder_of_unix_name(at, length, SOCK_STREAM));
    return false;
  }
  if (is_file) path_ = socket;
  // Everybody may connect; what somebody may do is decided by who it is.
  if (is_file) ::chmod(socket.c_str(), 0666);
  if (::listen(listening_, kBacklog) != 0) return fail(socket, why);
  loop_.watch(listening_, POLLIN, [this](short) { accept(); });
  return true;
}

// With no descriptor left the connection stays in the queue and the listener readable: it is left alone for a while.
void Connections::accept() {
  const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    paused_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (paused_) loop_.unwatch(listening_);
    return;
  }
  Credentials who;
  if (connections_.size() >= kMostConnections || !credentials_of(fd, &who)) {
    ::close(fd);
    return;
  }
  const Peer peer = peer_of(who, group_);
  if (!admits(peer)) {
    ::close(fd);
    return;
  }
  connections_[fd] = std::make_unique<Connection>(this, fd, peer);
}

void Connections::resume(Instant now) {
  std::vector<Connection*> overdue;
  for (const auto& [fd, connection] : connections_)
    if (connection->is_overdue(now)) overdue.push_back(connection.get());
  for (Connection* connection : overdue) drop(connection);
  if (!paused_) return;
  paused_ = false;
  loop_.watch(listening_, POLLIN, [this](short) { accept(); });
}

// No user takes all there are.
bool Connections::admits(const Peer& peer) const {
  if (peer.privileged) return true;
  const auto own = std::count_if(connections_.begin(), connections_.end(), [&](const auto& there) {
    return there.second->peer().uid == peer.uid && !there.second->peer().privileged;
  });
  return static_cast<size_t>(own) < kMostOfUser;
}

void Connections::drop(Connection* connection) {
  connections_.erase(connection->fd());
}

}  // namespace mrc::mrcd
