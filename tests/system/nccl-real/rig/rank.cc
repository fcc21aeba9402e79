#include "rig/rank.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "cuda/device.h"
#include "cuda/fatal.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "player/kernel.h"
#include "rig/bench.h"
#include "rig/cases.h"
#include "rig/launcher.h"

namespace mrc::nccl_rig {

void check(const NcclApi& api, int result, const std::string& call) {
  if (result != kNcclSuccess)
    throw NcclFailed(call + ": " + api.GetErrorString(result) + " (" + api.GetLastError(nullptr) + ")");
}

std::vector<Gpu> make_gpus(const Process& process) {
  const Options& o = process.options;
  NcclUniqueId id{};
  if (process.number == 0) check(process.api, process.api.GetUniqueId(&id), "ncclGetUniqueId");
  id = process.board.share_id(process.number, id);
  std::vector<Gpu> gpus;
  for (int d = 0; d < o.gpus; ++d) gpus.push_back({d, process.number * o.gpus + d, nullptr, new cuda::Stream});
  check(process.api, process.api.GroupStart(), "ncclGroupStart");
  for (Gpu& gpu : gpus) {
    cuda::set_current_device(gpu.device);
    NcclConfig config;
    check(process.api, process.api.CommInitRankConfig(&gpu.comm, o.ranks(), id, gpu.rank, &config),
          "ncclCommInitRankConfig");
  }
  check(process.api, process.api.GroupEnd(), "ncclCommInitRankConfig");
  return gpus;
}

void free_gpus(const Process& process, std::vector<Gpu>* gpus, bool abort) {
  if (!abort && gpus->size() > 1) {
    check(process.api, process.api.GroupStart(), "ncclGroupStart");
    for (Gpu& gpu : *gpus) check(process.api, process.api.CommFinalize(gpu.comm), "ncclCommFinalize");
    check(process.api, process.api.GroupEnd(), "ncclCommFinalize");
  }
  for (Gpu& gpu : *gpus) {
    cuda::set_current_device(gpu.device);
    if (gpu.comm)
      check(process.api, abort ? process.api.CommAbort(gpu.comm) : process.api.CommDestroy(gpu.comm),
            abort ? "ncclCommAbort" : "ncclCommDestroy");
    delete static_cast<cuda::Stream*>(gpu.stream);
  }
  gpus->clear();
}

void wait_for(const Process& process, std::vector<Gpu>* gpus) {
  for (Gpu& gpu : *gpus) {
    while (!cuda::stream_of(gpu.stream).synchronize_for(0.1)) {
      int error = kNcclSuccess;
      check(process.api, process.api.CommGetAsyncError(gpu.comm, &error), "ncclCommGetAsyncError");
      const bool peer_failed = process.board.failed();
      if (error == kNcclSuccess && !peer_failed) continue;
      const std::string text = process.api.GetLastError(nullptr);
      free_gpus(process, gpus, true);
      if (peer_failed) throw PeerFailed("another rank failed");
      throw NcclFailed(std::string("asynchronous error: ") + process.api.GetErrorString(error) + " (" + text + ")");
    }
  }
}

DeviceBuffer::DeviceBuffer(size_t bytes, int device)
    : data_(static_cast<char*>(cuda::allocate(bytes > 0 ? bytes : 1, true, device))) {
  if (data_ == nullptr) throw std::runtime_error("no memory for a buffer of " + std::to_string(bytes) + " bytes");
}
DeviceBuffer::~DeviceBuffer() {
  cuda::release(data_);
}

void say(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("%c%s\n", kToUser, text);
}

void report(const std::string& json_line) {
  printf("%c%s\n", kToReport, json_line.c_str());
}

int run_rank(const Options& options, int number, Board* board) {
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // NCCL's log, of which an abrupt end would lose the last buffer
  cuda::report_faults();
  cuda::set_device_count(options.gpus);
  int code = 0;
  try {
    const Process process{options, *board, number, load_library(find_library()).api};
    code = options.slices              ? run_slices(process)
           : options.only_case.empty() ? run_bench(process)
                                       : find_case(options.only_case)->run(process);
  } catch (const PeerFailed&) {
    return 1;
  } catch (const std::exception& e) {
    board->fail();
    say("rank %d: %s", number, e.what());
    return 1;
  }
  if (options.functions && number == 0)
    for (const auto& played : player::functions_played()) say("# played %-32s %lu", played.name, played.works);
  return code;
}

}  // namespace mrc::nccl_rig
