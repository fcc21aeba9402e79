// Transfers of the TCP plugin: announcing receives, sending into them, completion.
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tcp_net.h"

namespace mrc::tcp_net {

Comm::~Comm() {
  if (fd >= 0) ::close(fd);
}

// 0 stands for an end of stream. A connection that breaks is the peer's failure as far as NCCL is concerned.
ncclResult_t Comm::fail(int error_number) {
  const bool remote =
      error_number == 0 || error_number == ECONNRESET || error_number == EPIPE || error_number == ETIMEDOUT;
  return error = remote ? ncclRemoteError : ncclSystemError;
}

Request* Comm::free_request() {
  for (Request& r : requests)
    if (r.comm == nullptr) return &(r = Request{.comm = this});
  return nullptr;
}

ncclResult_t Comm::read_posts() {
  for (;;) {
    char* const to = reinterpret_cast<char*>(&incoming_post) + incoming_post_bytes;
    const ssize_t got = recv(fd, to, sizeof incoming_post - incoming_post_bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ncclSuccess;
    if (got <= 0) return fail(got < 0 ? errno : 0);
    incoming_post_bytes += static_cast<size_t>(got);
    if (incoming_post_bytes < sizeof incoming_post) continue;
    if (incoming_post.n == 0 || incoming_post.n > kMaxGroup) return error = ncclRemoteError;
    posts.push_back(incoming_post);
    incoming_post_bytes = 0;
  }
}

ncclResult_t Comm::progress_send() {
  if (error != ncclSuccess) return error;
  if (const ncclResult_t result = read_posts(); result != ncclSuccess) return result;
  while (!sends.empty()) {
    Send& s = sends.front();
    const uint64_t in_header = std::min<uint64_t>(s.written, sizeof s.header);
    const uint64_t in_payload = s.written - in_header;
    iovec parts[2] = {{reinterpret_cast<char*>(&s.header) + in_header, sizeof s.header - in_header},
                      {s.request->data[0] + in_payload, s.header.size - in_payload}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return ncclSuccess;
    if (sent < 0) return fail(errno);
    s.written += static_cast<uint64_t>(sent);
    if (s.written < sizeof s.header + s.header.size) continue;
    s.request->pending = 0;
    sends.pop_front();
  }
  return ncclSuccess;
}

ncclResult_t Comm::write_posts() {
  while (!outgoing.empty()) {
    const ssize_t sent = send(fd, outgoing.data(), outgoing.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return ncclSuccess;
    // The sender may have closed after its last message, still to be read: reading detects the end.
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return outgoing.clear(), ncclSuccess;
    if (sent < 0) return fail(errno);
    outgoing.erase(outgoing.begin(), outgoing.begin() + sent);
  }
  return ncclSuccess;
}

Request* Comm::receive_of(uint32_t seq) {
  for (Request* r : receives)
    if (r->seq == seq) return r;
  return nullptr;
}

ncclResult_t Comm::progress_receive() {
  if (error != ncclSuccess) return error;
  if (const ncclResult_t result = write_posts(); result != ncclSuccess) return result;
  while (!receives.empty()) {
    ssize_t got;
    if (incoming_bytes < sizeof incoming) {
      char* const to = reinterpret_cast<char*>(&incoming) + incoming_bytes;
      got = recv(fd, to, sizeof incoming - incoming_bytes, 0);
    } else {
      got = recv(fd, receive_of(incoming.seq)->data[incoming.member] + payload_read, incoming.size - payload_read, 0);
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ncclSuccess;
    if (got <= 0) return fail(got < 0 ? errno : 0);
    if (incoming_bytes < sizeof incoming) {
      incoming_bytes += static_cast<size_t>(got);
      if (incoming_bytes < sizeof incoming) continue;
      const Request* const r = receive_of(incoming.seq);
      if (r == nullptr || incoming.member >= static_cast<uint32_t>(r->n) ||
          incoming.size > r->capacity[incoming.member])
        return error = ncclRemoteError;
      payload_read = 0;
    } else {
      payload_read += static_cast<uint64_t>(got);
    }
    if (payload_read < incoming.size) continue;
    Request* const r = receive_of(incoming.seq);
    r->sizes[incoming.member] = incoming.size;
    incoming_bytes = 0;
    if (--r->pending == 0) receives.erase(std::find(receives.begin(), receives.end(), r));
  }
  return ncclSuccess;
}

ncclResult_t isend(void* comm, void* data, uint64_t size, int tag, void** request) {
  *request = nullptr;
  Comm* const c = static_cast<Comm*>(comm);
  if (const ncclResult_t result = c->progress_send(); result != ncclSuccess) return result;
  if (c->posts.empty()) return ncclSuccess;
  PostFrame& post = c->posts.front();
  PostFrame::Member* const end = post.members + post.n;
  PostFrame::Member* const m =
      std::find_if(post.members, end, [&](const auto& member) { return !member.taken && member.tag == tag; });
  if (m == end) return ncclSuccess;
  Request* const r = c->free_request();
  if (r == nullptr) return ncclSuccess;
  size = std::min(size, m->size);  // a longer message is cut to what was posted, as NCCL's own networks do
  r->is_send = true;
  r->n = r->pending = 1;
  r->data[0] = static_cast<char*>(data);
  r->sizes[0] = size;
  c->sends.push_back({{post.seq, static_cast<uint32_t>(m - post.members), size}, r});
  m->taken = 1;
  if (std::all_of(post.members, end, [](const auto& member) { return member.taken != 0; })) c->posts.pop_front();
  *request = r;
  return c->progress_send();
}

ncclResult_t irecv(void* comm, int n, void** data, const uint64_t* sizes, const int* tags, void** request) {
  *request = nullptr;
  Comm* const c = static_cast<Comm*>(comm);
  if (n < 1 || n > kMaxGroup) return ncclInvalidArgument;
  if (c->error != ncclSuccess) return c->error;
  Request* const r = c->free_request();
  if (r == nullptr) return ncclSuccess;
  PostFrame frame{};
  frame.seq = r->seq = c->next_seq++;
  frame.n = static_cast<uint32_t>(n);
  r->n = r->pending = n;
  for (int i = 0; i < n; ++i) {
    r->data[i] = static_cast<char*>(data[i]);
    r->capacity[i] = sizes[i];
    frame.members[i] = {tags[i], 0, sizes[i]};
  }
  const char* const bytes = reinterpret_cast<const char*>(&frame);
  c->outgoing.insert(c->outgoing.end(), bytes, bytes + sizeof frame);
  c->receives.push_back(r);
  *request = r;
  return c->progress_receive();
}

ncclResult_t test(void* request, int* done, int* sizes) {
  Request* const r = static_cast<Request*>(request);
  Comm* const c = r->comm;
  *done = 0;
  if (r->pending > 0) {
    const ncclResult_t result = r->is_send ? c->progress_send() : c->progress_receive();
    if (r->pending > 0 && result != ncclSuccess) return result;
  }
  if (r->pending > 0) return ncclSuccess;
  *done = 1;
  for (int i = 0; sizes != nullptr && i < r->n; ++i) sizes[i] = static_cast<int>(r->sizes[i]);
  r->comm = nullptr;
  return ncclSuccess;
}

}  // namespace mrc::tcp_net
