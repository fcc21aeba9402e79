// Sending side of the bandwidth measurement and the requesting side of the ping-pong; prints the result.
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "common.h"
#include "outgoing.h"
#include "slices.h"
#include "zerocopy.h"

namespace udp_limit {

namespace {

constexpr uint64_t kSilenceLimit = 60000000000;  // with a server that does not answer at all
constexpr int kEndTries = 3000;                  // of 20 ms
constexpr uint64_t kSendsBetweenReports = 16;    // of zero copy, by each socket
constexpr uint64_t kPingStall = 1000000000;  // no answer: the ping or its answer was lost, and not the server delayed

struct SendingPlane {
  std::vector<mrc::Fd> sources;
  uint32_t next_source = 0;
  uint64_t turns = 0;  // of all sources
  mrc::tools::CreditWindow window;
};

struct Result {
  uint64_t bytes = 0;  // received, with headers
  double seconds = 0, client_cpu_s = 0, server_cpu_s = 0;
  uint64_t lost = 0;  // bytes, or pings
  double p50_us = 0, p99_us = 0, p999_us = 0;
  size_t samples = 0;
  ZeroCopyCounts zerocopy;
};

struct Client {
  const Options& options;
  std::vector<SendingPlane> planes;
  uint32_t session = 0;
  std::unique_ptr<Outgoing> outgoing;  // of a bandwidth
  ZeroCopyCounts zerocopy;
  uint64_t sent = 0;

  void open();
  void start_plane(SendingPlane* p);
  bool read_credit(SendingPlane* p, Header* other);
  void send_burst(SendingPlane* p);
  Header finish();
  void prepare();
  void start_session();
  Result bandwidth(double seconds);
  Result ping_pong(double seconds);
  Result run(double seconds) { return options.latency ? ping_pong(seconds) : bandwidth(seconds); }
};

void Client::open() {
  for (uint32_t i = 0; i < options.planes; ++i) {
    SendingPlane p;
    for (uint32_t k = 0; k < options.sources; ++k) {
      socklen_t length;
      Address a = make_address(address_of_plane(options, i), static_cast<uint16_t>(options.port + i), &length);
      mrc::Fd opened = open_socket(options, a.sa.sa_family, k == 0);
      const int fd = opened.get();
      if (::connect(fd, &a.sa, length) != 0) fail("connect " + address_of_plane(options, i));
      uint16_t segment = static_cast<uint16_t>(options.size);
      int value = segment;
      if (options.burst > 1 && ::setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value)) != 0)
        fail("UDP_SEGMENT");
      if (options.zerocopy) enable_zerocopy(fd);
      p.sources.push_back(std::move(opened));
    }
    planes.push_back(std::move(p));
  }
}

void Client::start_plane(SendingPlane* p) {
  Header h;
  h.kind = Kind::kStart;
  h.session = session;
  h.memory = std::max<uint64_t>(options.memory, 1u << 20);
  Header answer;
  uint64_t give_up = now_ns() + kSilenceLimit;
  while (now_ns() < give_up) {
    (void)!::send(p->sources[0].get(), &h, sizeof(h), 0);
    for (int i = 0; i < 200; ++i) {
      ssize_t n = ::recv(p->sources[0].get(), &answer, sizeof(answer), 0);
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
  ssize_t n = ::recv(p->sources[0].get(), &h, sizeof(h), 0);
  if (n != sizeof(h) || h.session != session) return false;
  if (h.kind == Kind::kCredit) {
    p->window.on_credit(h.value, now_ns());
  } else if (other != nullptr) {
    *other = h;
  }
  return true;
}

void Client::send_burst(SendingPlane* p) {
  uint64_t bytes = static_cast<uint64_t>(options.size) * options.burst;
  int fd = p->sources[p->next_source].get();
  const bool reports_due = p->turns % kSendsBetweenReports == kSendsBetweenReports - 1;
  if (++p->next_source == p->sources.size()) p->next_source = 0, ++p->turns;
  int flags = MSG_NOSIGNAL;
  if (options.zerocopy) flags |= MSG_ZEROCOPY;
  ssize_t n = ::sendmsg(fd, &outgoing->next(), flags);
  const int error = errno;
  if (options.zerocopy && (n < 0 || reports_due)) take_completions(fd, &zerocopy);
  if (n < 0) {
    if (error == EAGAIN || error == ECONNREFUSED || error == ENOBUFS) return;
    errno = error;
    fail("send");
  }
  p->window.on_sent(bytes);
  sent += bytes;
}

Header Client::finish() {
  Header report;
  for (int tries = 0; tries < kEndTries; ++tries) {
    Header h;
    h.kind = Kind::kEnd;
    h.session = session;
    (void)!::send(planes[0].sources[0].get(), &h, sizeof(h), 0);
    uint64_t until = now_ns() + 20000000;
    while (now_ns() < until) {
      report.kind = Kind::kStart;
      if (!read_credit(&planes[0], &report) || report.kind != Kind::kReport) continue;
      h.value = 1;
      for (int i = 0; i < 3; ++i) (void)!::send(planes[0].sources[0].get(), &h, sizeof(h), 0);
      return report;
    }
  }
  errno = ETIMEDOUT;
  fail("no report from the server");
}

void Client::start_session() {
  session = static_cast<uint32_t>(now_ns() >> 10) ^ static_cast<uint32_t>(::getpid());
  for (SendingPlane& p : planes) p.window.restart();
  zerocopy = {};
  if (outgoing != nullptr) outgoing->begin_session(session);
  if (options.latency) return start_plane(&planes[0]);
  for (SendingPlane& p : planes) start_plane(&p);
}

void Client::prepare() {
  if (!options.latency) outgoing = std::make_unique<Outgoing>(options);
}

Result Client::bandwidth(double seconds) {
  const uint64_t bytes = uint64_t{options.size} * options.burst;
  start_session();
  double cpu = cpu_seconds();
  uint64_t start = now_ns();
  uint64_t end = start + static_cast<uint64_t>(seconds * 1e9);
  for (SendingPlane& p : planes) p.window.begin(start);
  for (uint64_t now = start; now < end; now = now_ns()) {
    for (SendingPlane& p : planes) {
      if (p.window.in_flight() + bytes > options.window) {
        while (read_credit(&p, nullptr)) {
        }
        if (p.window.in_flight() + bytes > options.window) {
          p.window.write_off_if_stalled(now);
          continue;
        }
      }
      send_burst(&p);
    }
  }
  cpu = cpu_seconds() - cpu;
  const Header report = finish();
  Result r;
  for (SendingPlane& p : planes) r.lost += p.window.lost();
  r.bytes = report.value;
  r.seconds = mrc::tools::transfer_seconds(start, report.first_ns, report.last_ns);
  r.client_cpu_s = cpu;
  r.server_cpu_s = static_cast<double>(report.cpu_us) / 1e6;
  for (const SendingPlane& p : planes)
    for (const mrc::Fd& source : p.sources)
      if (options.zerocopy) take_completions(source.get(), &zerocopy);
  r.zerocopy = zerocopy;
  return r;
}

Result Client::ping_pong(double seconds) {
  start_session();
  int fd = planes[0].sources[0].get();
  double cpu = cpu_seconds();
  const uint64_t begin = now_ns();
  uint64_t end = begin + static_cast<uint64_t>(seconds * 1e9);
  std::vector<uint32_t> half;
  half.reserve(1u << 20);
  uint16_t sequence = 0;
  Result r;
  const auto goes_on = [&](uint64_t now) { return now < end || (half.empty() && now < end + 10 * kPingStall); };
  for (uint64_t start = now_ns(); goes_on(start); start = now_ns()) {
    ++sequence;
    if (::send(fd, &sequence, 2, 0) != 2) continue;
    uint16_t echo = 0;
    uint64_t back = 0;
    bool got = false;
    do {
      got = ::recv(fd, &echo, 2, 0) == 2 && echo == sequence;
      if (!got) back = now_ns();
    } while (!got && back < start + kPingStall);
    back = now_ns();
    if (!got) {
      ++r.lost;
    } else if (half.size() < half.capacity()) {
      half.push_back(static_cast<uint32_t>((back - start) / 2));
    }
  }
  r.seconds = static_cast<double>(now_ns() - begin) / 1e9;
  r.client_cpu_s = cpu_seconds() - cpu;
  r.server_cpu_s = static_cast<double>(finish().cpu_us) / 1e6;
  if (half.empty()) fail("no answer");
  half.erase(half.begin(), half.begin() + static_cast<int64_t>(half.size() / 20));  // warming up
  std::sort(half.begin(), half.end());
  auto percentile = [&](double p) {
    return static_cast<double>(half[static_cast<size_t>(p * static_cast<double>(half.size() - 1))]) / 1000;
  };
  r.p50_us = percentile(0.5), r.p99_us = percentile(0.99), r.p999_us = percentile(0.999);
  r.samples = half.size();
  return r;
}

// Of what was sent, without the headers that MRC would have.
double payload_share(const Options& o) {
  return o.size > 48 ? static_cast<double>(o.size - 48) / o.size : 1;
}

void print_result(const Options& o, const Result& r) {
  if (o.latency && o.json) {
    std::printf(
        "{\"mode\": \"latency\", \"half_rtt_us_p50\": %.3f, \"half_rtt_us_p99\": %.3f, \"half_rtt_us_p999\": %.3f, "
        "\"samples\": %zu, \"lost\": %llu}\n",
        r.p50_us, r.p99_us, r.p999_us, r.samples, static_cast<unsigned long long>(r.lost));
    return;
  }
  if (o.latency) {
    std::printf("half round trip: p50 %.2f us, p99 %.2f us, p99.9 %.2f us, %zu samples, %llu lost\n", r.p50_us,
                r.p99_us, r.p999_us, r.samples, static_cast<unsigned long long>(r.lost));
    return;
  }
  const double payload = static_cast<double>(r.bytes) * payload_share(o), gigabytes = payload / 1e9;
  const double gbps = payload * 8 / r.seconds / 1e9, rate = static_cast<double>(r.bytes) / o.size / r.seconds;
  if (o.json)
    std::printf(
        "{\"mode\": \"bandwidth\", \"gbps\": %.4f, \"packets_per_second\": %.0f, \"bytes\": %llu, \"seconds\": %.6f, "
        "\"lost_bytes\": %llu, \"cpu_seconds_per_gb_client\": %.4f, \"cpu_seconds_per_gb_server\": %.4f}\n",
        gbps, rate, static_cast<unsigned long long>(r.bytes), r.seconds, static_cast<unsigned long long>(r.lost),
        r.client_cpu_s / gigabytes, r.server_cpu_s / gigabytes);
  else
    std::printf("%.2f Gb/s of payload received, %.0f packets/s, %llu bytes written off as lost\n", gbps, rate,
                static_cast<unsigned long long>(r.lost));
  if (o.zerocopy && !o.json)
    std::printf("zero copy: %llu sends done, %llu of them copied by the kernel after all\n",
                static_cast<unsigned long long>(r.zerocopy.done), static_cast<unsigned long long>(r.zerocopy.copied));
}

std::string slice_line(const Options& o, const Result& r) {
  char text[500];
  if (o.latency)
    std::snprintf(text, sizeof text,
                  "{\"latency\": {\"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, \"samples\": %zu}, "
                  "\"seconds\": %.6f, \"cpu_s\": {\"client\": %.6f, \"server\": %.6f}}",
                  r.p50_us, r.p99_us, r.p999_us, r.samples, r.seconds, r.client_cpu_s, r.server_cpu_s);
  else
    std::snprintf(text, sizeof text,
                  "{\"bytes\": %.0f, \"messages\": %llu, \"seconds\": %.6f, \"lost_bytes\": %llu, "
                  "\"zerocopy\": {\"done\": %llu, \"copied\": %llu}, "
                  "\"cpu_s\": {\"client\": %.6f, \"server\": %.6f}}",
                  static_cast<double>(r.bytes) * payload_share(o), static_cast<unsigned long long>(r.bytes / o.size),
                  r.seconds, static_cast<unsigned long long>(r.lost), static_cast<unsigned long long>(r.zerocopy.done),
                  static_cast<unsigned long long>(r.zerocopy.copied), r.client_cpu_s, r.server_cpu_s);
  return text;
}

int run_slices(Client* client, const Options& o) {
  const mrc::Status ended =
      mrc::tools::serve_slices([&](double seconds) { mrc::tools::print_slice(slice_line(o, client->run(seconds))); });
  errno = 0;
  if (!ended) fail(ended.error().text);
  return 0;
}

}  // namespace

int run_client(const Options& options) {
  Client client{.options = options};
  client.open();
  client.prepare();
  if (options.slices) return run_slices(&client, options);
  print_result(options, client.run(options.seconds));
  return 0;
}

}  // namespace udp_limit
