// mrc-perf: measures MRC between two processes. Exit code 0: all went well, 1: wrong data or an error, 2: bad command
// line.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "datagrams.h"
#include "device.h"
#include "error.h"
#include "oob.h"
#include "options.h"
#include "report.h"
#include "session.h"
#include "workers.h"

namespace {

using mrc::perf::Options;

int finish(const Options& o, const nlohmann::json& report, mrc::tools::ReportFile* json) {
  if (o.json != "-") mrc::perf::print_paths(report, stdout);
  mrc::perf::write_json(report, o.json, json);
  return report.value("ok", false) ? 0 : 1;
}

void print_error(const mrc::perf::PerfError& e) {
  std::fflush(stdout);
  std::fprintf(stderr, "mrc-perf: %s\n  what to do: %s\n", e.what(), e.advice().c_str());
}

// `listener`: of the server; null in the client.
nlohmann::json run(const Options& agreed, const std::string& session, const mrc::perf::Device& device,
                   mrc::perf::Oob& oob, mrc::perf::Listener* listener) {
  const auto more = mrc::perf::open_channels(agreed, session, listener);
  std::vector<mrc::perf::Oob*> channels = {&oob};
  for (const auto& channel : more) channels.push_back(channel.get());
  return mrc::perf::run_session(agreed, device, std::move(channels));
}

int serve_client(const Options& o, const std::string& session, const mrc::perf::Device& device, mrc::perf::Oob& oob,
                 mrc::perf::Listener* listener, mrc::tools::ReportFile* json) {
  try {
    return finish(o, run(o, session, device, oob, listener), json);
  } catch (const mrc::perf::PerfError& e) {
    print_error(e);
    return 1;
  }
}

int serve(const Options& o, const mrc::perf::Device& device, mrc::tools::ReportFile* json) {
  mrc::perf::Listener listener(o.port);
  std::fprintf(stderr, "mrc-perf: waiting for a client on TCP port %u\n", static_cast<unsigned>(o.port));
  for (;;) {
    mrc::perf::Oob oob(listener.accept_one());
    Options agreed = o;
    std::string session;
    try {
      session = mrc::perf::agree(&agreed, oob);
    } catch (const mrc::perf::PerfError& e) {
      // A port scanner, or another protocol, must not take the place of the client.
      std::fprintf(stderr, "mrc-perf: a connection that is no client's: %s\n", e.what());
      continue;
    }
    const int status = serve_client(agreed, session, device, oob, &listener, json);
    if (!o.persistent) return status;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options o = mrc::perf::parse_options(argc, argv);
    mrc::tools::ReportFile json;
    mrc::perf::open_json(o.json, &json);
    const mrc::perf::Device device(o);  // one that cannot be opened is reported before anyone is waited for
    mrc::perf::fit_datagrams(&o, device.active_mtu());
    if (o.is_server()) return serve(o, device, &json);
    mrc::perf::Oob oob(mrc::perf::Oob::connect_to(o.host, o.port, o.wait_s));
    Options agreed = o;
    const std::string session = mrc::perf::agree(&agreed, oob);
    return finish(o, run(agreed, session, device, oob, nullptr), &json);
  } catch (const mrc::perf::UsageError& e) {
    print_error(e);
    return 2;
  } catch (const mrc::perf::PerfError& e) {
    print_error(e);
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "mrc-perf: %s\n  what to do: this is a defect; run again with the same options and report it\n",
                 e.what());
    return 1;
  }
}
