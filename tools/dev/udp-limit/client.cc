// Sending side of the bandwidth measurement and the requesting side of the ping-pong; prints the result.
#include <netinet/udp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common.h"

namespace udp_limit {

namespace {

constexpr uint64_t kStall = 20000000;  // no credit for this time: the packets in flight were lost

struct SendingPlane {
  std::vector<int> sources;
  uint32_t next_source = 0;
  uint64_t sent = 0;
  uint64_t credited = 0;  // bytes the receiver has, or that were written off
  uint64_t lost = 0;
  uint64_t last_news = 0;
};

struct Client {
  const Options& options;
  std::vector<SendingPlane> planes;
  uint32_t session = 0;
  uint8_t* memory = nullptr;
  uint64_t at = 0;
  uint64_t sent = 0;

  void open();
  void hello(SendingPlane* p);
  bool read_credit(SendingPlane* p, Header* other);
  void send_burst(SendingPlane* p);
  Header finish();
  int bandwidth();
  int ping_pong();
};

void Client::open() {
  session = static_cast<uint32_t>(now_ns() >> 10) ^ static_cast<uint32_t>(::getpid());
  for (uint32_t i = 0; i < options.planes; ++i) {
    SendingPlane p;
    for (uint32_t k = 0; k < options.sources; ++k) {
      socklen_t length;
      Address a = make_address(address_of_plane(options, i), static_cast<uint16_t>(options.port + i), &length);
      int fd = open_socket(a.sa.sa_family, k == 0);
      if (::connect(fd, &a.sa, length) != 0) fail("connect " + address_of_plane(options, i));
      uint16_t segment = static_cast<uint16_t>(options.size);
      int value = segment;
      if (options.burst > 1 && ::setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value)) != 0)
        fail("UDP_SEGMENT");
      p.sources.push_back(fd);
    }
    planes.push_back(p);
  }
}

void Client::hello(SendingPlane* p) {
  Header h;
  h.kind = Kind::kHello;
  h.session = session;
  h.copied_to = std::max<uint64_t>(options.memory, 1u << 20);
  Header answer;
  uint64_t give_up = now_ns() + 5000000000u;
  while (now_ns() < give_up) {
    (void)!::send(p->sources[0], &h, sizeof(h), 0);
    for (int i = 0; i < 200; ++i) {
      ssize_t n = ::recv(p->sources[0], &answer, sizeof(answer), 0);
      if (n == sizeof(answer) && answer.kind == Kind::kCredit && answer.session == session) return;
      ::usleep(100);
    }
  }
  errno = ETIMEDOUT;
  fail("no answer from the server");
}

// True when something arrived; a message that is not a credit is stored in *other.
bool Client::read_credit(SendingPlane* p, Header* other) {
  Header h;
  ssize_t n = ::recv(p->sources[0], &h, sizeof(h), 0);
  if (n != sizeof(h) || h.session != session) return false;
  if (h.kind == Kind::kCredit) {
    p->credited = std::max(p->credited, h.value + p->lost);
    p->last_news = now_ns();
  } else if (other != nullptr) {
    *other = h;
  }
  return true;
}

void Client::send_burst(SendingPlane* p) {
  uint64_t bytes = static_cast<uint64_t>(options.size) * options.burst;
  if (at + bytes > options.memory) at = 0;
  Header h;
  h.session = session;
  std::memcpy(memory + at, &h, sizeof(h));
  int fd = p->sources[p->next_source];
  if (++p->next_source == p->sources.size()) p->next_source = 0;
  ssize_t n = ::send(fd, memory + at, bytes, MSG_NOSIGNAL);
  if (n < 0) {
    if (errno == EAGAIN || errno == ECONNREFUSED || errno == ENOBUFS) return;
    fail("send");
  }
  at += bytes;
  p->sent += bytes;
  sent += bytes;
}

Header Client::finish() {
  Header report;
  for (int tries = 0; tries < 200; ++tries) {
    Header h;
    h.kind = Kind::kEnd;
    h.session = session;
    (void)!::send(planes[0].sources[0], &h, sizeof(h), 0);
    uint64_t until = now_ns() + 20000000;
    while (now_ns() < until) {
      report.kind = Kind::kHello;
      if (!read_credit(&planes[0], &report) || report.kind != Kind::kReport) continue;
      h.value = 1;
      for (int i = 0; i < 3; ++i) (void)!::send(planes[0].sources[0], &h, sizeof(h), 0);
      return report;
    }
  }
  errno = ETIMEDOUT;
  fail("no report from the server");
}

int Client::bandwidth() {
  uint64_t bytes = static_cast<uint64_t>(options.size) * options.burst;
  if (bytes > 65487) {
    errno = 0;
    fail("a burst is at most 65,487 bytes: make --size or --burst smaller");
  }
  void* m = ::mmap(nullptr, options.memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (m == MAP_FAILED) fail("memory");
  memory = static_cast<uint8_t*>(m);
  for (SendingPlane& p : planes) hello(&p);
  uint64_t cpu = cpu_us();
  uint64_t start = now_ns();
  uint64_t end = start + static_cast<uint64_t>(options.seconds * 1e9);
  for (SendingPlane& p : planes) p.last_news = start;
  for (uint64_t now = start; now < end; now = now_ns()) {
    for (SendingPlane& p : planes) {
      if (p.sent - p.credited + bytes > options.window) {
        while (read_credit(&p, nullptr)) {
        }
        if (p.sent - p.credited + bytes > options.window) {
          if (now > p.last_news + kStall) {
            p.lost += p.sent - p.credited;
            p.credited = p.sent;
            p.last_news = now;
          }
          continue;
        }
      }
      send_burst(&p);
    }
  }
  cpu = cpu_us() - cpu;
  Header report = finish();
  uint64_t lost = 0;
  for (SendingPlane& p : planes) lost += p.lost;
  double seconds = static_cast<double>(report.first_ns) / 1e9;
  double payload = static_cast<double>(options.size > 48 ? options.size - 48 : options.size) / options.size;
  double gbps = static_cast<double>(report.value) * 8 * payload / seconds / 1e9;
  double rate = static_cast<double>(report.value) / options.size / seconds;
  double gigabytes = static_cast<double>(report.value) * payload / 1e9;
  if (options.json)
    std::printf(
        "{\"mode\": \"bandwidth\", \"gbps\": %.4f, \"packets_per_second\": %.0f, \"bytes\": %llu, \"seconds\": %.6f, "
        "\"lost_bytes\": %llu, \"cpu_seconds_per_gb_client\": %.4f, \"cpu_seconds_per_gb_server\": %.4f}\n",
        gbps, rate, static_cast<unsigned long long>(report.value), seconds, static_cast<unsigned long long>(lost),
        static_cast<double>(cpu) / 1e6 / gigabytes, static_cast<double>(report.cpu_us) / 1e6 / gigabytes);
  else
    std::printf("%.2f Gb/s of payload received, %.0f packets/s, %llu bytes written off as lost\n", gbps, rate,
                static_cast<unsigned long long>(lost));
  return 0;
}

int Client::ping_pong() {
  hello(&planes[0]);
  int fd = planes[0].sources[0];
  uint64_t end = now_ns() + static_cast<uint64_t>(options.seconds * 1e9);
  std::vector<uint32_t> half;
  half.reserve(1u << 20);
  uint16_t sequence = 0;
  uint64_t losses = 0;
  for (uint64_t start = now_ns(); start < end; start = now_ns()) {
    ++sequence;
    if (::send(fd, &sequence, 2, 0) != 2) continue;
    uint16_t echo = 0;
    uint64_t back = 0;
    bool got = false;
    do {
      got = ::recv(fd, &echo, 2, 0) == 2 && echo == sequence;
      if (!got) back = now_ns();
    } while (!got && back < start + kStall);
    back = now_ns();
    if (!got) {
      ++losses;
    } else if (half.size() < half.capacity()) {
      half.push_back(static_cast<uint32_t>((back - start) / 2));
    }
  }
  if (half.size() < 10) fail("hardly any answer");
  half.erase(half.begin(), half.begin() + static_cast<int64_t>(half.size() / 20));  // warming up
  std::sort(half.begin(), half.end());
  auto percentile = [&](double p) {
    return static_cast<double>(half[static_cast<size_t>(p * static_cast<double>(half.size() - 1))]) / 1000;
  };
  if (options.json)
    std::printf(
        "{\"mode\": \"latency\", \"half_rtt_us_p50\": %.3f, \"half_rtt_us_p99\": %.3f, \"half_rtt_us_p999\": %.3f, "
        "\"samples\": %zu, \"lost\": %llu}\n",
        percentile(0.5), percentile(0.99), percentile(0.999), half.size(), static_cast<unsigned long long>(losses));
  else
    std::printf("half round trip: p50 %.2f us, p99 %.2f us, p99.9 %.2f us, %zu samples, %llu lost\n", percentile(0.5),
                percentile(0.99), percentile(0.999), half.size(), static_cast<unsigned long long>(losses));
  Header h;
  h.kind = Kind::kEnd;
  h.session = session;
  h.value = 1;
  for (int i = 0; i < 3; ++i) (void)!::send(fd, &h, sizeof(h), 0);
  return 0;
}

}  // namespace

int run_client(const Options& options) {
  Client client{.options = options};
  client.open();
  return options.latency ? client.ping_pong() : client.bandwidth();
}

}  // namespace udp_limit
