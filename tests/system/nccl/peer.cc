// nccl_peer: the other process of a test. Driven by its arguments, prints its handle on stdout.
//
//   nccl_peer VERSION send HANDLE SIZE COUNT    connects to the handle (hex) and sends COUNT messages, 0: for ever
//   nccl_peer VERSION recv SIZE COUNT           prints a handle, accepts and receives, comparing each message
//   nccl_peer VERSION wait HANDLE               connects, then does nothing until it is killed
//
// Message i is pattern(SIZE, i % 16). Exit code 0: all sent or received and right.
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

#include "fixture.h"

namespace mrc::nccl_test {

namespace {

constexpr int kPatterns = 16;
constexpr size_t kWindow = 8;

[[noreturn]] void die(const char* what, int result = 0) {
  std::fprintf(stderr, "nccl_peer: %s (%d)\n%s", what, result, logged().c_str());
  std::exit(1);
}
void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) die(what, result);
}

struct Flight {
  void* request;
  uint64_t message;
};

class Peer {
 public:
  Peer(Net& net, size_t size, uint64_t count) : net_(net), size_(size), count_(count) {}

  void connect(const char* hex) {
    alignas(16) unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
    for (unsigned char& byte : handle) {
      unsigned value = 0;
      if (std::sscanf(hex, "%2x", &value) != 1) die("bad handle");
      byte = static_cast<unsigned char>(value);
      hex += 2;
    }
    while (comm_ == nullptr) check(net_.connect(0, handle, &comm_), "connect"), sched_yield();
  }
  void accept() {
    unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
    void* listen = nullptr;
    check(net_.listen(0, handle, &listen), "listen");
    for (unsigned char byte : handle) std::printf("%02x", byte);
    std::printf("\n");
    std::fflush(stdout);
    while (comm_ == nullptr) check(net_.accept(listen, &comm_), "accept"), sched_yield();
    check(net_.close_listen(listen), "close listen");
  }

  void send() {
    std::vector<uint8_t> bytes;
    for (int i = 0; i < kPatterns; ++i)
      for (uint8_t b : pattern(size_, static_cast<uint32_t>(i))) bytes.push_back(b);
    void* memory = nullptr;
    check(net_.reg(comm_, bytes.data(), bytes.size(), NCCL_PTR_HOST, &memory), "reg");
    run(
        [&](uint64_t message, void** request) {
          check(net_.isend(comm_, bytes.data() + message % kPatterns * size_, size_, 0, memory, request), "isend");
        },
        [](uint64_t) {});
    check(net_.dereg(comm_, memory), "dereg");
    check(net_.close_send(comm_), "close");
  }
  void receive() {
    std::vector<std::vector<uint8_t>> expected;
    for (int i = 0; i < kPatterns; ++i) expected.push_back(pattern(size_, static_cast<uint32_t>(i)));
    std::vector<uint8_t> bytes(size_ * kWindow);
    void* memory = nullptr;
    check(net_.reg(comm_, bytes.data(), bytes.size(), NCCL_PTR_HOST, &memory), "reg");
    run(
        [&](uint64_t message, void** request) {
          void* data = bytes.data() + message % kWindow * size_;
          int tag = 0;
          check(net_.irecv(comm_, 1, &data, &size_, &tag, &memory, request), "irecv");
        },
        [&](uint64_t message) {
          if (std::memcmp(bytes.data() + message % kWindow * size_, expected[message % kPatterns].data(), size_) != 0)
            die("wrong data", static_cast<int>(message));
        });
    check(net_.dereg(comm_, memory), "dereg");
    check(net_.close_recv(comm_), "close");
  }

 private:
  void run(const std::function<void(uint64_t, void**)>& post, const std::function<void(uint64_t)>& finished) {
    std::deque<Flight> flights;
    uint64_t next = 0;
    while (count_ == 0 || next < count_ || !flights.empty()) {
      bool moved = false;
      if ((count_ == 0 || next < count_) && flights.size() < kWindow) {
        void* request = nullptr;
        post(next, &request);
        if (request != nullptr) flights.push_back({request, next++}), moved = true;
      }
      int done = 0;
      if (!flights.empty()) {
        check(net_.test(flights.front().request, &done, nullptr), "test");
        if (done != 0) {
          finished(flights.front().message);
          flights.pop_front();
          moved = true;
        }
      }
      if (!moved) sched_yield();
    }
  }

  Net& net_;
  const size_t size_;
  const uint64_t count_;
  void* comm_ = nullptr;
};

int run(int argc, char** argv) {
  if (argc < 4) die("arguments");
  const auto opened = Net::open(MRC_NCCL_PLUGIN, std::atoi(argv[1]));
  if (!opened) die(opened.error().text.c_str());
  const std::unique_ptr<Net>& net = *opened;
  check(net->init(log_sink), "init");
  const std::string role = argv[2];
  auto number = [&](int index) { return argc > index ? std::strtoull(argv[index], nullptr, 10) : 0; };
  if (role == "send") {
    Peer peer(*net, number(4), number(5));
    peer.connect(argv[3]);
    peer.send();
  } else if (role == "recv") {
    Peer peer(*net, number(3), number(4));
    peer.accept();
    peer.receive();
  } else {
    Peer peer(*net, 0, 0);
    peer.connect(argv[3]);
    for (;;) sched_yield();
  }
  check(net->finalize(), "finalize");
  return 0;
}

}  // namespace

}  // namespace mrc::nccl_test

int main(int argc, char** argv) {
  return mrc::nccl_test::run(argc, argv);
}
