#include "connections.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/line_reader.h"
#include "ctl/peer_json.h"
#include "datapath/holder.h"
#include "device/unix_address.h"
#include "send_buffer.h"

namespace mrc::mrcd {

namespace asio = boost::asio;

namespace {

using Stream = asio::local::stream_protocol;

constexpr int kBacklog = 1024;
constexpr int kRequestsPerTurn = 16;  // of a connection, before those of others
constexpr size_t kMaxConnections = 4096;
constexpr size_t kMaxOfUser = 256;  // without the privilege to make changes
constexpr size_t kMaxLine = size_t{1} << 20;
constexpr size_t kMaxLongLine = size_t{1} << 24;        // reports, and privileged clients
constexpr size_t kMaxUnread = size_t{1} << 20;          // of answers: beyond it no more requests are read
constexpr Duration kFirstLine = Duration::seconds(10);  // until its end; our own programs send it at once
constexpr size_t kMaxQueued = size_t{1} << 24;          // beyond it the connection is dropped with the next message

}  // namespace

struct Connections::Acceptor {
  Stream::acceptor listener;
};

struct Connections::Socket {
  Stream::socket stream;
};

// The memory that a peer can occupy is limited both ways: the length of a line, and unread answers. A
// connection that fails inside send() is dropped later, from the loop, because the service may be in the middle of a
// message to all.
class Connections::Connection final : public Client, public std::enable_shared_from_this<Connection> {
 public:
  Connection(Connections* owner, Stream::socket socket, const Peer& peer)
      : owner_(*owner), socket_(std::move(socket)), peer_(peer) {}

  void begin() {
    socket_.non_blocking(true);
    id_ = owner_.service_.connect(this, peer_);
    read();
  }
  // From here on no handler touches the owner.
  void end() {
    if (ended_) return;
    ended_ = true;
    owner_.service_.disconnect(id_);
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  const Peer& peer() const { return peer_; }
  // Connected, and no complete line has been received in time.
  bool is_overdue(Instant now) const { return !first_line_taken_ && now - since_ > kFirstLine; }

  bool idle() const { return failed_ || out_.unsent() == 0; }

  void send(const nlohmann::json& message) override {
    if (failed_ || ended_ || writing_stopped_) return;
    if (out_.unsent() > kMaxQueued) return fail();
    out_.add(message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    out_.add("\n");
    write();
  }

 private:
  bool may_request() const {
    return out_.unsent() <= kMaxUnread && (!owner_.finishing_ || owner_.service_.awaits_report(id_, steady_now()));
  }

  void fail() {
    if (failed_) return;
    failed_ = true;
    out_.clear_waiting();
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drop(); });
  }
  void drop() {
    if (!ended_) owner_.drop(this);
  }

  void write() {
    if (write_pending_) return;
    const std::string_view text = out_.next();
    if (text.empty()) return;
    write_pending_ = true;
    socket_.async_write_some(asio::buffer(text),
                             [self = shared_from_this()](const boost::system::error_code& error, size_t n) {
                               self->write_pending_ = false;
                               if (self->ended_ || self->failed_) return;
                               if (error)
                                 self->stop_writing();
                               else
                                 self->out_.note_sent(n);
                               self->write();
                               self->take_lines();  // that waited until there was room for answers
                               self->read();
                             });
  }

  // A process that has closed its device no longer reads, but its last report may still be unread here: the connection
  // ends with the end of what it has sent.
  void stop_writing() {
    writing_stopped_ = true;
    out_.clear();
  }

  // One part at a time, and few requests of it: a peer that sends without a pause does not block the others.
  void read() {
    if (read_pending_ || turn_pending_ || failed_ || !may_request()) return;
    read_pending_ = true;
    socket_.async_wait(Stream::socket::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
      self->read_pending_ = false;
      if (self->ended_ || self->failed_ || self->turn_pending_ || !self->may_request()) return;
      if (error || !self->read_part()) return self->drop();
      self->read();
    });
  }
  // False: the connection has ended, or the peer violates the protocol.
  bool read_part() {
    std::array<char, 65536> part;  // not a member: a thousand idle connections would hold one each
    boost::system::error_code error;
    const size_t n = socket_.read_some(asio::buffer(part), error);
    if (error) return error == asio::error::would_block || error == asio::error::interrupted;
    lines_.append({part.data(), n});
    take_lines();
    return lines_.unfinished() <= longest_line();
  }

  size_t longest_line() const {
    return peer_.privileged || owner_.service_.awaits_report(id_, steady_now()) ? kMaxLongLine : kMaxLine;
  }

  void take_lines() {
    if (turn_pending_) return;
    for (int taken = 0; !failed_ && may_request(); ++taken) {
      if (taken == kRequestsPerTurn) return await_turn();
      const auto line = lines_.next();
      if (!line) return;
      first_line_taken_ = true;
      owner_.service_.message(id_, ctl::parse_peer_json(*line), steady_now());
    }
  }
  void await_turn() {
    turn_pending_ = true;
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->turn_pending_ = false;
      if (self->ended_ || self->failed_) return;
      self->take_lines();
      self->read();
    });
  }

  Connections& owner_;
  Stream::socket socket_;
  const Peer peer_;
  ClientId id_ = 0;
  LineReader lines_;
  SendBuffer out_;
  bool read_pending_ = false, write_pending_ = false, turn_pending_ = false;
  bool writing_stopped_ = false;  // nothing can be sent to it any more
  bool failed_ = false, ended_ = false, first_line_taken_ = false;
  const Instant since_ = steady_now();
};

Connections::Connections(Loop* loop, Service* service, std::string group)
    : service_(*service), group_(std::move(group)), acceptor_(new Acceptor{Stream::acceptor(loop->context())}) {}

Connections::~Connections() {
  for (const auto& connection : connections_) connection->end();
  if (acceptor_->listener.is_open() && !path_.empty()) ::unlink(path_.c_str());
}

// The file stays, the lock is released with the process: removing the file would let two daemons hold locks on two
// files of one name.
Status Connections::lock(const std::string& socket) {
  const std::string file = socket + ".lock";
  lock_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_) {
    Error error = failed_call(file);
    error.text += datapath::taken_by(datapath::holder_of_file(file));
    return error;
  }
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return failed_call(file);
  return Error{EALREADY, "another mrcd holds " + file + datapath::taken_by(datapath::holder_of_lock(lock_.get()))};
}

Status Connections::listen(const std::string& socket) {
  const auto at = device::unix_address(socket);
  if (!at) return invalid("'" + socket + "' is too long for the name of a socket");
  const bool is_file = socket[0] != '@';
  if (is_file)
    if (Status locked = lock(socket); !locked) return locked;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed_call("socket");
  acceptor_->listener.assign(Stream(), fd);
  // While this process holds the lock, a socket of that name was left by a killed daemon. Any other file has an owner,
  // and the setting is a mistake.
  if (struct stat there; is_file && ::lstat(socket.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return invalid(socket + " is there already and is no socket: mrcd does not replace it");
    ::unlink(socket.c_str());
  }
  if (::bind(fd, at->get(), at->length) != 0) {
    Error error = failed_call(socket);
    if (error.code != EADDRINUSE) return error;
    error.code = EALREADY;
    error.text += datapath::taken_by(datapath::holder_of_unix_name(at->name, at->length, SOCK_STREAM));
    return error;
  }
  if (is_file) path_ = socket;
  // Any user may connect; permissions depend on the user.
  if (is_file) ::chmod(socket.c_str(), 0666);
  if (::listen(fd, kBacklog) != 0) return failed_call(socket);
  accept();
  return {};
}

// Without a free descriptor the connection stays in the queue and the listener readable: accepting pauses until
// resume().
void Connections::accept() {
  acceptor_->listener.async_accept(
      [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error, Stream::socket socket) {
        if (error == asio::error::operation_aborted || alive.expired()) return;
        paused_ = static_cast<bool>(error);
        if (paused_) return;
        admit({std::move(socket)});
        accept();
      });
}

void Connections::admit(Socket accepted) {
  if (connections_.size() >= kMaxConnections) return;
  const std::optional<Credentials> credentials = credentials_of(accepted.stream.native_handle());
  if (!credentials) return;
  const Peer peer = peer_of(*credentials, group_);
  if (!admits(peer)) return;
  const auto connection = std::make_shared<Connection>(this, std::move(accepted.stream), peer);
  connections_.insert(connection);
  connection->begin();
}

void Connections::resume(Instant now) {
  std::vector<Connection*> overdue;
  for (const auto& connection : connections_)
    if (connection->is_overdue(now)) overdue.push_back(connection.get());
  for (Connection* connection : overdue) drop(connection);
  if (!paused_ || finishing_) return;
  paused_ = false;
  accept();
}

void Connections::finish() {
  finishing_ = true;
  boost::system::error_code ignored;
  acceptor_->listener.cancel(ignored);
}

bool Connections::idle() const {
  return std::all_of(connections_.begin(), connections_.end(), [](const auto& there) { return there->idle(); });
}

// No user can take all of them.
bool Connections::admits(const Peer& peer) const {
  if (peer.privileged) return true;
  const auto own = std::count_if(connections_.begin(), connections_.end(), [&](const auto& there) {
    return there->peer().uid == peer.uid && !there->peer().privileged;
  });
  return static_cast<size_t>(own) < kMaxOfUser;
}

void Connections::drop(Connection* connection) {
  connection->end();
  connections_.erase(connection->shared_from_this());
}

}  // namespace mrc::mrcd
