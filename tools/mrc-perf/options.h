// What the command line says. The client's test settings travel to the server, so only the client has to be told.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mrc::perf {

enum class Op { kWrite, kWriteImm };
enum class Test { kBandwidth, kLatency, kRate };

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

  // Of the test; the server takes over the client's.
  Op op = Op::kWrite;
  Test test = Test::kBandwidth;
  std::vector<uint64_t> sizes;
  uint32_t qps = 1;
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
  int timeout = -1;  // exponent as in mrc_qp_attr; -1: the device's default
  int retry_linear = -1;
  int retry_exp = -1;
  bool sleepy_server = false;

  bool is_server() const { return host.empty(); }
  bool finite_retries() const { return retry_exp >= 0 && retry_exp < 25; }
};

// Parses argv. Prints help and exits where asked to; throws PerfError for values that make no sense together.
Options parse_options(int argc, char** argv);

// Fills what the user left open: sizes, depth, signalling, iterations.
void choose_defaults(Options* o);

nlohmann::json test_to_json(const Options& o);
void test_from_json(const nlohmann::json& j, Options* o);

const char* op_name(Op op);
const char* test_name(Test test);

}  // namespace mrc::perf
