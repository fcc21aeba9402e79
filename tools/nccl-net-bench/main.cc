// nccl-net-bench: coordinator, or a rank when the coordinator starts it again.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "compare.h"
#include "conformance.h"
#include "preflight.h"

int main(int argc, char** argv) {
  using namespace mrc::net_bench;
  try {
    if (argc == 3 && strcmp(argv[1], kRankArgument) == 0) return rank_main(argv[2]);
    const Options options = parse_options(argc, argv);
    mrc::tools::ReportFile json;
    if (!json.open(options.json)) throw CannotRun("cannot write " + options.json + ": " + strerror(errno));
    if (!options.environment.hosts.empty()) return run_preflight(options, &json);
    return options.conformance ? run_conformance(options, &json) : run_measurements(options, &json);
  } catch (const CannotRun& e) {
    fprintf(stderr, "nccl-net-bench: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fprintf(stderr, "nccl-net-bench: %s\n", e.what());
    return 1;
  }
}
