// The command line of nccl-rig.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace mrc::nccl_rig {

struct BadOption : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  int processes = 4;
  int gpus = 1;                    // of a process
  std::vector<std::string> tests;  // collectives; or one case
  std::string only_case;
  std::vector<size_t> sizes;
  std::vector<int> types, ops;
  int root = 0;
  int sm = 80;  // compute capability of the devices
  int iterations = 20, warm_up = 1;
  double duration_s = 0;  // of each size, in batches of `iterations`; 0: one batch
  bool slices = false;    // measure what each line of standard input asks for
  bool timeline = false;  // report when each batch began and ended
  bool check = true;
  bool in_place = true;
  bool register_buffers = false;
  int repeat = 1;
  std::string plugin;                    // NCCL_NET_PLUGIN; "socket": NCCL's own sockets
  std::string expect_net;                // of the log's "Assigned NET plugin"
  std::vector<std::string> launch;       // words before the program, with {rank}
  std::vector<std::string> environment;  // NAME=VALUE, "{rank}" being replaced
  std::string log_folder, json;
  double limit_s = 120;
  bool functions = false;  // print what was played

  int ranks() const { return processes * gpus; }
};

// Prints help or version and exits where asked to. Throws BadOption.
Options parse_options(int argc, char** argv);

const char* type_name(int type);
const char* op_name(int op);

}  // namespace mrc::nccl_rig
