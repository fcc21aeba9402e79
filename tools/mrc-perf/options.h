// The command line. The client's test settings are sent to the server, so they are given to the client only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc::perf {

enum class Transport { kMrc, kUd };
enum class Op { kWrite, kWriteImm, kSend };
enum class Test { kBandwidth, kLatency, kRate };

// An enumerator and what the command line and the JSON call it.
template <typename E>
struct Word {
  E value;
  const char* text;
};
inline constexpr Word<Transport> kTransports[] = {{Transport::kMrc, "mrc"}, {Transport::kUd, "ud"}};
inline constexpr Word<Op> kOps[] = {{Op::kWrite, "write"}, {Op::kWriteImm, "write-imm"}, {Op::kSend, "send"}};
inline constexpr Word<Test> kTests[] = {{Test::kBandwidth, "bw"}, {Test::kLatency, "lat"}, {Test::kRate, "rate"}};

template <typename E, size_t N>
std::optional<E> find_word(const Word<E> (&table)[N], const std::string& text) {
  for (const Word<E>& word : table)
    if (text == word.text) return word.value;
  return std::nullopt;
}

// "bw, lat or rate".
template <typename E, size_t N>
std::string all_words(const Word<E> (&table)[N]) {
  std::string text;
  for (size_t i = 0; i < N; ++i) text += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(table[i].text);
  return text;
}

// The limits of the options, from any source.
inline constexpr uint32_t kMaxQps = 60000, kMaxDepth = 8192, kMaxThreads = 64;
inline constexpr uint64_t kMaxIters = uint64_t{1} << 40;
inline constexpr int kMaxInline = 1024, kMaxTimeout = 24, kMaxLinear = 7, kMaxExponential = 25;
inline constexpr double kMinSeconds = 0.01, kMaxSeconds = 86400;
inline constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096, 8192};

struct Options {
  // Of each side.
  std::string host;  // empty: server
  uint16_t port = 18515;
  std::string device;  // empty: the first one
  int gid_index = -1;  // -1: 3, or the first usable one
  std::string json;    // file name, or "-"
  bool quiet = false;
  bool persistent = false;
  double wait_s = 10;  // how long the client tries to reach the server

  // Of the test; the server uses the client's.
  Transport transport = Transport::kMrc;
  Op op = Op::kWrite;
  Test test = Test::kBandwidth;
  std::vector<uint64_t> sizes;  // empty until the device is open: one datagram as large as it carries
  uint32_t qps = 1;
  uint32_t threads = 1;       // of each side; each has an equal part of the queue pairs
  uint32_t depth = 0;         // messages in flight per QP; 0: chosen
  uint32_t signal_every = 0;  // 0: chosen
  uint64_t iters = 0;         // messages per QP; 0: by duration
  double duration_s = 0;
  bool bidirectional = false;
  uint32_t mtu = 0;       // 0: the largest that both devices carry
  int inline_bytes = -1;  // -1: chosen
  bool verify = false;
  uint64_t seed = 1;
  uint32_t timeline_ms = 0;
  uint32_t timeline_line_ms = 0;  // 0: as timeline_ms
  int timeout = -1;               // exponent as in mrc_qp_attr; -1: the device's default
  int retry_linear = -1;
  int retry_exp = -1;
  bool sleepy_server = false;
  bool slices = false;

  bool is_server() const { return host.empty(); }
  bool datagrams() const { return transport == Transport::kUd; }
  bool chosen_retries() const { return retry_exp >= 0 && retry_exp < 25; }  // given, and finite
};

// Parses argv. Prints help and exits on request, and on errors of CLI11; throws UsageError for other errors.
Options parse_options(int argc, char** argv);

// Throws UsageError for values that make no sense together.
void check_test(const Options& o);

const char* transport_name(Transport transport);
const char* op_name(Op op);
const char* test_name(Test test);

}  // namespace mrc::perf
