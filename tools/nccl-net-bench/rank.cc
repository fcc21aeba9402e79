#include "rank.h"

#include <absl/strings/str_split.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <deque>

#include "bench.h"
#include "conformance.h"
#include "host_checks.h"
#include "log_filter.h"
#include "mutex.h"
#include "secure_environment.h"
#include "world.h"

namespace mrc::net_bench {

namespace {

constexpr size_t kWarningsKept = 3;
constexpr const char* kLost = " (NCCL drops this by default: the flags share no bit with INIT, BOOTSTRAP and ENV)";
Mutex log_mutex;  // plugins log from threads of their own
std::deque<std::string> warnings ABSL_GUARDED_BY(log_mutex);

Json run_job(Rank& rank) {
  if (rank.job().contains("case")) return run_case(rank);
  return rank.job().contains("preflight") ? run_host_checks(rank) : run_bench(rank);
}

// What else writes to standard output, such as the plugin, must not get between the messages.
std::unique_ptr<Channel> channel_of(const std::string& descriptor) {
  if (descriptor != kStandard) return std::make_unique<Channel>(Fd(atoi(descriptor.c_str())));
  Fd in(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!in || !out) throw CannotRun(std::string("standard input and output: ") + strerror(errno));
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return std::make_unique<Channel>(std::move(in), std::move(out));
}

}  // namespace

void plugin_log(ncclDebugLogLevel level, unsigned long flags, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const MutexLock lock(log_mutex);
  if (level <= NCCL_LOG_WARN) {
    const bool lost = !nccl_net::LogFilter::in_default_subsystems(flags);
    warnings.push_back(text + std::string(lost ? kLost : ""));
    if (warnings.size() > kWarningsKept) warnings.pop_front();
  }
  static const nccl_net::LogFilter filter(environment::variable("NCCL_DEBUG"),
                                          environment::variable("NCCL_DEBUG_SUBSYS"));
  if (filter.prints(level, flags))
    fprintf(stderr, "[%d] NET %s %s\n", getpid(), level <= NCCL_LOG_WARN ? "WARN" : "INFO", text);
}

std::string last_warnings() {
  const MutexLock lock(log_mutex);
  std::string text;
  for (const std::string& w : warnings) text += "\n    the plugin's log: " + w;
  return text;
}

const char* result_name(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
  }
  return "a result unknown to NCCL";
}

void check(ncclResult_t result, const std::string& call) {
  if (result != ncclSuccess) throw Fail(call + " returned " + result_name(result) + last_warnings());
}

Rank::Rank(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {
  std::optional<Json> job = channel_->receive(Clock::now() + std::chrono::seconds(30));
  if (!job) throw Fail("the coordinator is gone");
  job_ = std::move(*job);
  rank_ = job_.at("rank");
  ranks_ = job_.at("ranks");
  // On another host, which has not inherited it.
  for (const Json& set : job_.value("environment", Json::array()))
    setenv(set.at(0).get<std::string>().c_str(), set.at(1).get<std::string>().c_str(), 1);
  until_ = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(job_.at("limit_s").get<double>() * 950));
}

std::unique_ptr<Net> Rank::another() {
  const std::string library = job_.at("library");
  int version = job_.at("abi");
  if (version == 0) {
    const Result<int> newest = Net::newest(library);
    if (!newest) throw CannotRun(newest.error().text);
    version = *newest;
  }
  Result<std::unique_ptr<Net>> opened = Net::open(library, version);
  if (!opened) throw CannotRun(opened.error().text);
  std::unique_ptr<Net> net = *std::move(opened);
  const auto require_all = [version](const std::vector<std::string>& missing, const char* when) {
    if (missing.empty()) return;
    throw Fail("ncclNetPlugin_v" + std::to_string(version) + " has no " + missing.front() + " " + when +
               last_warnings());
  };
  require_all(net->missing_before_init(), "before init");
  check(net->init(plugin_log), "init");
  require_all(net->missing(), "after init");
  return net;
}

void Rank::check_preload() {
  const std::string preload = job_.value("preload", std::string());
  const std::vector<std::string> libraries =
      absl::StrSplit(preload, absl::ByAnyChar(": \t\n"), absl::SkipEmpty());  // as the linker
  for (const std::string& library : libraries) {
    void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == nullptr) throw CannotRun("the preload '" + library + "' cannot be loaded");
    dlclose(loaded);
  }
}

void Rank::open() {
  check_preload();
  stage("opening the plugin");
  net_ = another();
  int count = 0;
  check(net_->devices(&count), "devices");
  if (count < 1) throw CannotRun("the plugin has no device" + last_warnings());
  device_ = job_.value("device", 0);
  if (device_ >= count)
    throw CannotRun("device " + std::to_string(device_) + " of " + std::to_string(count) + " does not exist");
  check(net_->properties(device_, &properties_), "getProperties");
  if ((properties_.ptrSupport & NCCL_PTR_HOST) == 0)
    throw CannotRun("the device does not take host memory (ptrSupport " + std::to_string(properties_.ptrSupport) + ")");
  check(net_->set_attributes(ranks_ - 1, 1), "setNetAttr");
}

void Rank::close() {
  stage("finalizing");
  check(net_->finalize(), "finalize");
}

Json Rank::exchange(const Json& mine) {
  channel_->send({{"type", "exchange"}, {"data", mine}});
  std::optional<Json> all = channel_->receive(until_);
  if (!all) throw Fail("waited for the other ranks in vain");
  return std::move(*all);
}

void Rank::stage(const std::string& text) {
  channel_->send({{"type", "stage"}, {"text", text}});
}

void Rank::error(const std::string& text, bool cannot_run) {
  channel_->send({{"type", "error"}, {"text", text}, {"cannot_run", cannot_run}});
}

int rank_main(const std::string& descriptor) {
  Rank rank(channel_of(descriptor));
  try {
    rank.result(run_job(rank));
    return 0;
  } catch (const CannotRun& e) {
    rank.error(e.what(), true);
  } catch (const std::exception& e) {
    rank.error(e.what(), false);
  }
  // The others are ended by the coordinator; destructors of the plugin would wait for them.
  _exit(1);
}

}  // namespace mrc::net_bench
