#include "context.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "connect.h"
#include "listen.h"
#include "log.h"
#include "secure_environment.h"

namespace mrc::nccl {

namespace {

Mutex process_mutex;
std::shared_ptr<Process>* const the_process ABSL_PT_GUARDED_BY(process_mutex) =
    new std::shared_ptr<Process>();  // never closed by the end of the program
int users ABSL_GUARDED_BY(process_mutex) = 0;

// NSCC steers a window, so a starting and a minimum rate have no effect. A maximum rate would be a maximum window
// over a round trip, but that is measured during operation; and the profiles of mrc_ctl.h, which could hold the window,
// belong to the controller of the host and require its privilege. NICs take all three from their own configuration.
void warn_unused_rates(const Settings& s) {
  for (const auto& [rate, name] : {std::pair{s.cc_init_rate, "NCCL_MRC_CC_INIT_RATE"},
                                   {s.cc_min_rate, "NCCL_MRC_CC_MIN_RATE"},
                                   {s.cc_max_rate, "NCCL_MRC_CC_MAX_RATE"}})
    if (rate != 0)
      NET_WARN(
          "%s is not acted on: congestion control here has no rates per queue pair; for a device there are "
          "MRC_LINE_RATE_GBPS and MRC_CONGESTION_PARAMETERS (max_cwnd)",
          name);
}

void choose_gpu_access(Process* process) {
  const std::string& wanted = process->settings.gpu;
  std::string why = "NCCL_MRC_GPU=off";
  if (wanted == "dmabuf") process->maps_dma_bufs = true;
  if (wanted == "auto" || wanted == "gdrcopy") {
    Result<std::unique_ptr<Gdr>> gdr = Gdr::open();
    if (!gdr) why = gdr.error().text;
    if (gdr) process->gdr = *std::move(gdr);
  }
  if (process->gdr != nullptr) {
    NET_INFO("GPU memory is registered through gdrcopy");
  } else if (process->maps_dma_bufs) {
    NET_INFO("GPU memory is registered as dma-bufs that the CPU maps");
  } else if (wanted == "gdrcopy") {
    NET_WARN("NCCL_MRC_GPU=gdrcopy: %s. NCCL stages through host memory", why.c_str());
  } else {
    NET_INFO("GPU memory is not registered (%s): NCCL stages through host memory", why.c_str());
  }
}

// The CPU reads from a GPU slowly. Read by NCCL when it first plans a connection, after this; not before there are
// devices, for without them NCCL uses another transport.
void prefer_staged_sends(const Process& process) {
  if (process.devices.count() > 0 && (process.gdr != nullptr || process.maps_dma_bufs))
    setenv("NCCL_NET_GDR_READ", "0", 0);
}

// NCCL says nothing of the network that it uses instead.
std::nullptr_t no_network(const std::string& why) {
  const char* const demanded = environment::variable("NCCL_NET");
  NET_WARN("%s%s", why.c_str(),
           demanded != nullptr && *demanded != '\0'
               ? ""
               : ". NCCL goes on over another network, its sockets as a rule; NCCL_NET=MRC forbids that");
  return nullptr;
}

}  // namespace

std::shared_ptr<Process> Process::acquire() {
  const MutexLock lock(process_mutex);
  if (*the_process == nullptr) {
    const char* library = environment::variable("MRC_PROVIDER");
    const Result<provider::Provider> api = provider::load_provider(library != nullptr ? library : "");
    if (!api) return no_network(api.error().text);
    std::vector<std::string> complaints;
    auto made = std::make_shared<Process>(*api, settings_from_environment(&complaints));
    for (const std::string& complaint : complaints) NET_WARN("%s", complaint.c_str());
    if (!environment::is_ignored())
      for (const std::string& sentence : unread_variables(::environ)) NET_WARN("%s", sentence.c_str());
    warn_unused_rates(made->settings);
    choose_gpu_access(made.get());
    if (const Status opened = made->devices.open(); !opened) return no_network(opened.error().text);
    prefer_staged_sends(*made);
    for (int i = 0; i < made->devices.count(); ++i) {
      const Device& d = made->devices.device(i);
      NET_INFO("Using %s of %s, %d Mb/s, GID index %d", d.name.c_str(), api->name.c_str(), d.speed_mbps, d.gid_index);
    }
    *the_process = std::move(made);
  }
  ++users;
  return *the_process;
}

void Process::release() {
  std::shared_ptr<Process> last;  // devices are closed without the lock
  const MutexLock lock(process_mutex);
  if (users > 0 && --users == 0 && !(*the_process)->devices.joined()) last = std::move(*the_process);
}

std::shared_ptr<Process> Process::current() {
  const MutexLock lock(process_mutex);
  return *the_process;
}

uint64_t Attempts::add(std::shared_ptr<Attempt> attempt) {
  std::vector<std::shared_ptr<Attempt>> abandoned;  // destroyed without the lock
  const MutexLock lock(mutex_);
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    if (!it->second->abandoned()) {
      ++it;
      continue;
    }
    abandoned.push_back(std::move(it->second));
    it = attempts_.erase(it);
  }
  attempts_.emplace(++last_, std::move(attempt));
  return last_;
}

std::shared_ptr<Attempt> Attempts::find(uint64_t number) {
  const MutexLock lock(mutex_);
  const auto found = attempts_.find(number);
  return found == attempts_.end() ? nullptr : found->second;
}

void Attempts::remove(uint64_t number) {
  const MutexLock lock(mutex_);
  attempts_.erase(number);
}

void Attempts::clear() {
  std::map<uint64_t, std::shared_ptr<Attempt>> dropped;  // destroyed without the lock
  const MutexLock lock(mutex_);
  dropped.swap(attempts_);
}

void Listeners::add(Listener* listener) {
  const MutexLock lock(mutex_);
  listeners_.insert(listener);
}

void Listeners::remove(Listener* listener) {
  const MutexLock lock(mutex_);
  listeners_.erase(listener);
}

void Listeners::end_all() {
  const MutexLock lock(mutex_);  // a listener that is being deleted waits for it
  for (Listener* const listener : listeners_) listener->end();
  listeners_.clear();
}

}  // namespace mrc::nccl
