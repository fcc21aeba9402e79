#include "case_tools.h"

#include <utility>

#include "folder.h"

namespace mrc::net_bench {

namespace {
constexpr char kUntouched = 0x5a;
}

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw Fail(otherwise + last_warnings());
}

Buffer::Buffer(Net& net, void* comm, size_t size)
    : size_(size),
      bytes_(size + 2 * kGuard, kUntouched),
      memory_(net, comm, bytes_.data() + kGuard, size > 0 ? size : 1) {}

void Buffer::fill(int seed) {
  for (size_t i = 0; i < size_; ++i) data()[i] = static_cast<char>(pattern(seed, 1, i));
}

void Buffer::expect(int seed, size_t size, const std::string& what) const {
  const auto is = [&](size_t at, char right) { return bytes_[kGuard + at] == right; };
  for (size_t i = 0; i < size; ++i)
    if (!is(i, static_cast<char>(pattern(seed, 1, i))))
      throw Fail(what + ": wrong data at byte " + std::to_string(i) + " of " + std::to_string(size));
  for (size_t i = size; i < size_; ++i)
    if (!is(i, kUntouched))
      throw Fail(what + ": byte " + std::to_string(i) + " was written, behind a message of " + std::to_string(size));
  for (size_t i = 0; i < kGuard; ++i)
    if (bytes_[i] != kUntouched || bytes_[kGuard + size_ + i] != kUntouched)
      throw Fail(what + ": bytes outside of the buffer were written");
}

void* send(Rank& rank, Net& net, void* comm, Buffer& buffer, size_t size, int tag) {
  void* request = nullptr;
  until(
      rank,
      [&] {
        return check(net.isend(comm, buffer.data(), size, tag, buffer.memory(), &request), "isend"), request != nullptr;
      },
      [&] { return "isend of " + std::to_string(size) + " bytes gives no request though a receive is posted"; });
  return request;
}

void* receive(Rank& rank, Net& net, void* comm, const std::vector<Buffer*>& buffers, const std::vector<int>& tags) {
  std::vector<void*> data, memory;
  std::vector<size_t> sizes;
  for (Buffer* b : buffers) data.push_back(b->data()), memory.push_back(b->memory()), sizes.push_back(b->size());
  std::vector<int> own_tags = tags;
  void* request = nullptr;
  until(
      rank,
      [&] {
        check(net.irecv(comm, static_cast<int>(buffers.size()), data.data(), sizes.data(), own_tags.data(),
                        memory.data(), &request),
              "irecv");
        return request != nullptr;
      },
      [] { return std::string("irecv gives no request"); });
  return request;
}

std::vector<int> finish(Rank& rank, Net& net, void* request, int n, const std::string& what) {
  std::vector<int> sizes(static_cast<size_t>(n), -1);
  int done = 0;
  until(
      rank, [&] { return check(net.test(request, &done, sizes.data()), "test of " + what), done != 0; },
      [&] { return what + " is never done"; });
  return sizes;
}

Pair::Pair(Rank& rank, Net& net) : rank_(rank), net_(net) {
  rank.stage("connecting");
  if (receives()) {
    const Listening l = listen_on(rank, net);
    rank.exchange(handle_text(l.handle));
    comm_ = accept_from(rank, net, l.comm, "rank 1");
    check(net.close_listen(l.comm), "closeListen");
  } else {
    Handle handle = handle_from(rank.exchange(nullptr).at(kReceiver));
    comm_ = connect_to(rank, net, handle, "rank 0");
  }
  rank.stage("in its steps on a connection");
}

void Pair::exchange_message(size_t size, int seed) {
  Buffer buffer(net_, comm_, size);
  const std::string what = "a message of " + std::to_string(size) + " bytes";
  if (receives()) {
    void* const request = receive(rank_, net_, comm_, {&buffer}, {3});
    require(finish(rank_, net_, request, 1, what)[0] == static_cast<int>(size),
            what + " was received with another size");
    buffer.expect(seed, size, what);
  } else {
    buffer.fill(seed);
    finish(rank_, net_, send(rank_, net_, comm_, buffer, size, 3), 1, what);
  }
}

void Pair::close() {
  buffers_.clear();
  void* const comm = std::exchange(comm_, nullptr);
  check(receives() ? net_.close_recv(comm) : net_.close_send(comm), receives() ? "closeRecv" : "closeSend");
}

int open_descriptors() {
  int count = 0;
  Folder folder("/proc/self/fd");
  while (folder.next() != nullptr) ++count;
  return count;
}

}  // namespace mrc::net_bench
