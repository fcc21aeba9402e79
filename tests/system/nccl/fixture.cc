#include "fixture.h"

#include <sched.h>

#include <cstdarg>
#include <cstdio>

#include "log_filter.h"

namespace mrc::nccl_test {

namespace {

std::mutex log_mutex;
std::string log_text, printed_text;

}  // namespace

std::string logged() {
  std::lock_guard lock(log_mutex);
  return log_text;
}

std::string printed() {
  std::lock_guard lock(log_mutex);
  return printed_text;
}

void clear_log() {
  std::lock_guard lock(log_mutex);
  log_text.clear();
  printed_text.clear();
}

void log_sink(ncclDebugLogLevel level, unsigned long flags, const char* file, int line, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  static const nccl_net::LogFilter filter("WARN", nullptr);
  std::lock_guard lock(log_mutex);
  log_text += std::string(text) + "\n";
  if (filter.prints(level, flags)) printed_text += std::string(text) + "\n";
  if (level <= NCCL_LOG_WARN) std::fprintf(stderr, "%s:%d %s\n", file, line, text);
}

bool eventually(const std::function<bool()>& step, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!step()) {
    if (std::chrono::steady_clock::now() > end) return false;
    sched_yield();
  }
  return true;
}

std::vector<uint8_t> pattern(size_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = seed * 2654435761u + 1;
  for (uint8_t& b : bytes) b = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

Pair::~Pair() {
  close_sender();
  close_receiver();
  if (listen_ != nullptr) net_.close_listen(listen_);
}

void Pair::close_sender() {
  if (send_ != nullptr) {
    EXPECT_EQ(net_.close_send(send_), ncclSuccess);
  }
  send_ = nullptr;
}

void Pair::close_receiver() {
  if (recv_ != nullptr) {
    EXPECT_EQ(net_.close_recv(recv_), ncclSuccess);
  }
  recv_ = nullptr;
}

void Pair::join() {
  alignas(16) char handle[NCCL_NET_HANDLE_MAXSIZE], copy[NCCL_NET_HANDLE_MAXSIZE];
  ASSERT_EQ(net_.listen(device_, handle, &listen_), ncclSuccess);
  std::memcpy(copy, handle, sizeof copy);
  ncclResult_t result = ncclSuccess;
  ASSERT_TRUE(eventually([&] {
    if (send_ == nullptr) result = net_.connect(device_, copy, &send_);
    if (result == ncclSuccess && recv_ == nullptr) result = net_.accept(listen_, &recv_);
    return result != ncclSuccess || (send_ != nullptr && recv_ != nullptr);
  }));
  ASSERT_EQ(result, ncclSuccess);
}

Buffer Pair::buffer(bool of_sender, std::vector<uint8_t> bytes) {
  Buffer made{std::move(bytes)};
  EXPECT_EQ(net_.reg(of_sender ? send_ : recv_, made.data(), made.bytes.size(), NCCL_PTR_HOST, &made.memory),
            ncclSuccess);
  EXPECT_NE(made.memory, nullptr);
  return made;
}

void Pair::release(bool of_sender, Buffer& buffer) {
  EXPECT_EQ(net_.dereg(of_sender ? send_ : recv_, buffer.memory), ncclSuccess);
  buffer.memory = nullptr;
}

void* Pair::isend(Buffer& from, size_t size, int tag, size_t offset) {
  void* request = nullptr;
  EXPECT_TRUE(eventually([&] {
    const ncclResult_t result =
        net_.isend(send_, static_cast<uint8_t*>(from.data()) + offset, size, tag, from.memory, &request);
    EXPECT_EQ(result, ncclSuccess);
    return result != ncclSuccess || request != nullptr;
  }));
  return request;
}

void* Pair::irecv(const std::vector<Buffer*>& to, const std::vector<size_t>& sizes, const std::vector<int>& tags) {
  std::vector<void*> data, memory;
  for (Buffer* b : to) data.push_back(b->data()), memory.push_back(b->memory);
  std::vector<int> own_tags = tags;
  void* request = nullptr;
  EXPECT_TRUE(eventually([&] {
    const ncclResult_t result = net_.irecv(recv_, static_cast<int>(to.size()), data.data(), sizes.data(),
                                           own_tags.data(), memory.data(), &request);
    EXPECT_EQ(result, ncclSuccess);
    return result != ncclSuccess || request != nullptr;
  }));
  return request;
}

std::vector<int> Pair::finish(void* request, int count) {
  std::vector<int> sizes(count, -1);
  int done = 0;
  EXPECT_TRUE(eventually([&] {
    const ncclResult_t result = net_.test(request, &done, sizes.data());
    EXPECT_EQ(result, ncclSuccess);
    return result != ncclSuccess || done != 0;
  }));
  return sizes;
}

ncclResult_t Pair::outcome(void* request, std::chrono::milliseconds limit) {
  ncclResult_t result = ncclSuccess;
  int done = 0;
  EXPECT_TRUE(eventually(
      [&] {
        result = net_.test(request, &done, nullptr);
        return result != ncclSuccess || done != 0;
      },
      limit));
  return result;
}

std::unique_ptr<Net> open_plugin(int version) {
  Result<std::unique_ptr<Net>> opened = Net::open(MRC_NCCL_PLUGIN, version);
  if (opened) return *std::move(opened);
  ADD_FAILURE() << opened.error().text;
  return nullptr;
}

void NetTest::SetUp() {
  clear_log();
  net_ = open_plugin(GetParam());
  ASSERT_NE(net_, nullptr);
  ASSERT_EQ(net_->init(log_sink), ncclSuccess);
}

void NetTest::TearDown() {
  if (net_ != nullptr) {
    EXPECT_EQ(net_->finalize(), ncclSuccess);
  }
}

}  // namespace mrc::nccl_test
