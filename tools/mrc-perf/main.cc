// mrc-perf: measures MRC between two processes. Exit code 0: all went well, 1: wrong data or an error, 2: bad command
// line. Of a run that failed the report has what was measured until then.
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

void print_error(const char* what, const std::string& advice) {
  std::fflush(stdout);
  std::fprintf(stderr, "mrc-perf: %s\n  what to do: %s\n", what, advice.c_str());
}
void print_error(const mrc::perf::PerfError& e) {
  print_error(e.what(), e.advice());
}

// What --json writes, and where.
struct Output {
  std::string name;
  mrc::tools::ReportFile file;
  nlohmann::json report;

  int finish() {
    if (name != "-") mrc::perf::print_paths(report, stdout);
    try {
      mrc::perf::write_json(report, name, &file);
    } catch (const mrc::perf::PerfError& e) {
      print_error(e);
      return 1;
    }
    return report.value("ok", false) ? 0 : 1;
  }
  // With what was measured until then.
  int fail(const char* what, const std::string& advice) {
    report["ok"] = false;
    report["error"] = what;
    report["advice"] = advice;
    finish();
    print_error(what, advice);
    return 1;
  }
};

// `listener`: of the server; null in the client.
void run(const Options& agreed, const std::string& session, const mrc::perf::Device& device, mrc::perf::Oob& oob,
         mrc::perf::Listener* listener, Output* out) {
  out->report = mrc::perf::make_report(agreed, device.name(), device.gid_index());
  const auto more = mrc::perf::open_channels(agreed, session, listener);
  std::vector<mrc::perf::Oob*> channels = {&oob};
  for (const auto& channel : more) channels.push_back(channel.get());
  mrc::perf::run_session(agreed, device, std::move(channels), &out->report);
}

int serve_client(const Options& o, const std::string& session, const mrc::perf::Device& device, mrc::perf::Oob& oob,
                 mrc::perf::Listener* listener, Output* out) {
  try {
    run(o, session, device, oob, listener, out);
    return out->finish();
  } catch (const mrc::perf::PerfError& e) {
    return out->fail(e.what(), e.advice());
  }
}

int serve(const Options& o, const mrc::perf::Device& device, Output* out) {
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
    const int status = serve_client(agreed, session, device, oob, &listener, out);
    if (!o.persistent) return status;
  }
}

int serve_or_measure(int argc, char** argv, Output* out) {
  Options o = mrc::perf::parse_options(argc, argv);
  out->name = o.json;
  mrc::perf::open_json(o.json, &out->file);
  out->report = mrc::perf::make_report(o, o.device, o.gid_index);
  const mrc::perf::Device device(o);  // one that cannot be opened is reported before anyone is waited for
  mrc::perf::fit_datagrams(&o, device.active_mtu());
  if (o.is_server()) return serve(o, device, out);
  mrc::perf::Oob oob(mrc::perf::Oob::connect_to(o.host, o.port, o.wait_s));
  Options agreed = o;
  const std::string session = mrc::perf::agree(&agreed, oob);
  run(agreed, session, device, oob, nullptr, out);
  return out->finish();
}

}  // namespace

int main(int argc, char** argv) {
  Output out;
  try {
    return serve_or_measure(argc, argv, &out);
  } catch (const mrc::perf::UsageError& e) {
    print_error(e);
    return 2;
  } catch (const mrc::perf::PerfError& e) {
    return out.fail(e.what(), e.advice());
  } catch (const std::exception& e) {
    return out.fail(e.what(), "this is a defect; run again with the same options and report it");
  }
}
