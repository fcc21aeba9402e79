#include "profile.h"

#include <atomic>

namespace mrc::nccl {

namespace {

std::atomic<ncclProfilerCallback_t> the_profiler{nullptr};

}  // namespace

void set_profiler(ncclProfilerCallback_t callback) {
  if (callback != nullptr) the_profiler.store(callback);
}

void NetEvent::start(void* parent, const QpDescription& message) {
  handle_ = nullptr;
  const ncclProfilerCallback_t profiler = the_profiler.load(std::memory_order_relaxed);
  if (profiler == nullptr || parent == nullptr) return;
  QpDescription data = message;
  if (profiler(&handle_, ncclProfilerNetEventStart, parent, kProfilerPluginId, &data) != ncclSuccess) handle_ = nullptr;
}

void NetEvent::update(const PathDescription& path) {
  PathDescription data = path;
  if (open()) the_profiler.load()(&handle_, ncclProfilerNetEventUpdate, nullptr, kProfilerPluginId, &data);
}

void NetEvent::stop() {
  if (!open()) return;
  the_profiler.load()(&handle_, ncclProfilerNetEventStop, nullptr, kProfilerPluginId, nullptr);
  handle_ = nullptr;
}

}  // namespace mrc::nccl
