// mrc-perf: measures MRC between two processes. Exit code 0: all went well, 1: wrong data or an error, 2: bad command
// line.
#include <cstdio>
#include <exception>

#include "error.h"
#include "oob.h"
#include "options.h"
#include "report.h"
#include "session.h"

namespace {

using mrc::perf::Options;

int finish(const Options& o, const nlohmann::json& report) {
  if (o.json != "-") mrc::perf::print_paths(report, stdout);
  if (!o.json.empty()) mrc::perf::write_json(report, o.json);
  return report.value("ok", false) ? 0 : 1;
}

int report_failure(const mrc::perf::PerfError& e) {
  std::fflush(stdout);
  std::fprintf(stderr, "mrc-perf: %s\n  what to do: %s\n", e.what(), e.advice().c_str());
  return 1;
}

int serve(const Options& o) {
  mrc::perf::Listener listener(o.port);
  std::fprintf(stderr, "mrc-perf: waiting for a client on TCP port %u\n", static_cast<unsigned>(o.port));
  int status = 0;
  do {
    try {
      mrc::perf::Oob oob(listener.accept_one());
      status = finish(o, mrc::perf::run_session(o, oob));
    } catch (const mrc::perf::PerfError& e) {
      status = report_failure(e);
    }
  } while (o.persistent);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options o = mrc::perf::parse_options(argc, argv);
    if (o.is_server()) return serve(o);
    mrc::perf::Oob oob(mrc::perf::Oob::connect_to(o.host, o.port, o.wait_s));
    return finish(o, mrc::perf::run_session(o, oob));
  } catch (const mrc::perf::PerfError& e) {
    return report_failure(e);
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "mrc-perf: %s\n  what to do: this is a defect; run again with the same options and report it\n",
                 e.what());
    return 1;
  }
}
