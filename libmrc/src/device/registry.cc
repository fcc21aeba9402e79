#include "device/registry.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <vector>

#include "device/environment.h"
#include "device/log.h"
#include "mutex.h"
#include "secure_environment.h"

namespace mrc::device {

// Never destroyed: the exit handler and late closes use it.
class Registry {
 public:
  static Registry& get() {
    static Registry* registry = new Registry;
    return *registry;
  }

  const Config* config() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (config_) return config_.get();
    Result<Config> loaded = load_config(environment::variable);
    if (!loaded) {
      const std::string& why = loaded.error().text;
      if (error_ && *error_ == why) return nullptr;
      error_ = std::make_unique<std::string>(why);
      // The level is a setting of the refused file; the environment's value still applies.
      if (const char* level = environment::variable("MRC_LOG"))
        set_log_level(value_of<LogLevel>(level).value_or(LogLevel::kError));
      log_line(LogLevel::kError, why);
      return nullptr;
    }
    error_.reset();
    config_ = std::make_unique<Config>(*std::move(loaded));
    hook();
    set_log_level(config_->devices.front().settings.log);
    // Logged as errors: the program runs with another configuration than the one requested by its user.
    for (const std::string& line : misspelt_variables(::environ)) log_once(LogLevel::kError, line);
    if (environment::is_ignored())
      if (const std::string line = ignored_variables(::environ); !line.empty()) log_once(LogLevel::kError, line);
    return config_.get();
  }

  void provide(const Config& config, StartDevice start) ABSL_LOCKS_EXCLUDED(mutex) {
    const MutexLock lock(mutex);
    config_ = std::make_unique<Config>(config);
    start_ = start;
  }

  Result<std::shared_ptr<Shards>> open(const char* name) ABSL_LOCKS_EXCLUDED(mutex) {
    const MutexLock lock(mutex);
    const Config* all = config();
    if (all == nullptr) return invalid(*error_);
    const std::string wanted = name != nullptr && *name != 0 ? name : all->devices.front().name;
    const auto found =
        std::find_if(all->devices.begin(), all->devices.end(), [&](const DeviceConfig& d) { return d.name == wanted; });
    if (found == all->devices.end()) {
      Error error{ENODEV, "no device '" + wanted + "' in the configuration"};
      log_failure(error.text);
      return error;
    }
    open_.erase(std::remove_if(open_.begin(), open_.end(), [](const Entry& e) { return e.shards.expired(); }),
                open_.end());
    for (const Entry& entry : open_)
      if (std::shared_ptr<Shards> shards = entry.shards.lock();
          shards != nullptr && shards->first().config().name == wanted)
        return shards;
    Result<std::shared_ptr<Shards>> started = start_(*found);
    if (started)
      open_.push_back({*started, nullptr});
    else
      log_failure(started.error().text);
    return started;
  }

  const char* error() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return error_ ? error_->c_str() : nullptr; }

  Mutex mutex;

 private:
  // Libraries try again, each by itself: the same failure is logged once.
  void log_failure(const std::string& text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (text != failure_) log_line(LogLevel::kError, text);
    failure_ = text;
  }

  // At process exit: programs that never close still flush their acknowledgements. At fork: all locks are taken, so
  // that the child gets them in a known state, and the child's copies are disabled. Handlers of fork run in the reverse
  // order of their registration: the shim's, whose lock is an outer one, are registered after its devices are known.
  void hook() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (hooked_) return;
    hooked_ = true;
    std::atexit([] { get().stop_all(); });
    ::pthread_atfork([] { get().before_fork(); }, [] { get().after_fork(false); }, [] { get().after_fork(true); });
  }

  // The handlers allocate nothing: memory may have run out, and an exception would end the process in them.
  void stop_all() {
    while (const std::shared_ptr<Shards> shards = first_running()) shards->stop();
  }

  // Null: every device has been stopped.
  std::shared_ptr<Shards> first_running() ABSL_LOCKS_EXCLUDED(mutex) {
    const MutexLock lock(mutex);
    for (const Entry& entry : open_)
      if (std::shared_ptr<Shards> shards = entry.shards.lock(); shards != nullptr && shards->running()) return shards;
    return nullptr;
  }

  // Not analysed: the locks of a changing number of devices, locked in one function and unlocked in the other.
  void before_fork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex.lock();
    for (Entry& entry : open_)
      if ((entry.forking = entry.shards.lock()) != nullptr) entry.forking->before_fork();
  }

  void after_fork(bool child) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (const Entry& entry : open_)
      if (entry.forking != nullptr) entry.forking->after_fork(child);
    if (child) open_.clear();
    mutex.unlock();
    while (take_forked() != nullptr) {
    }
  }

  // One of the references taken before the fork, to be released without the lock: it may be a device's last one.
  std::shared_ptr<Shards> take_forked() ABSL_LOCKS_EXCLUDED(mutex) {
    const MutexLock lock(mutex);
    for (Entry& entry : open_)
      if (entry.forking != nullptr) return std::move(entry.forking);
    return nullptr;
  }

  struct Entry {
    std::weak_ptr<Shards> shards;
    std::shared_ptr<Shards> forking;  // held while the process forks
  };

  std::unique_ptr<Config> config_ ABSL_GUARDED_BY(mutex);
  std::unique_ptr<std::string> error_ ABSL_GUARDED_BY(mutex);
  std::string failure_ ABSL_GUARDED_BY(mutex);  // the last one that was logged
  std::vector<Entry> open_ ABSL_GUARDED_BY(mutex);
  bool hooked_ ABSL_GUARDED_BY(mutex) = false;
  StartDevice start_ ABSL_GUARDED_BY(mutex) = Shards::start;
};

const Config* process_config() {
  Registry& registry = Registry::get();
  const MutexLock lock(registry.mutex);
  return registry.config();
}

const char* config_error() {
  Registry& registry = Registry::get();
  const MutexLock lock(registry.mutex);
  return registry.error();
}

void provide_devices(const Config& config, StartDevice start) {
  Registry::get().provide(config, start);
}

Result<std::shared_ptr<Shards>> open_device(const char* name) {
  return Registry::get().open(name);
}

}  // namespace mrc::device
