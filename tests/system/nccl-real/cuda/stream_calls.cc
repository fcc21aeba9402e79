// Streams, events, host functions and capture queries of the runtime.
#include <cstring>

#include "cuda/abi.h"
#include "cuda/stream.h"

namespace mrc::nccl_rig::cuda {

namespace {

thread_local int capture_mode = 0;

Error stream_create_with_flags(void** stream, unsigned) {
  *stream = new Stream;
  return kSuccess;
}
Error stream_create(void** stream) {
  return stream_create_with_flags(stream, 0);
}
Error stream_destroy(void* stream) {
  delete static_cast<Stream*>(stream);
  return kSuccess;
}
Error stream_synchronize(void* stream) {
  stream_of(stream).synchronize();
  return kSuccess;
}
Error stream_query(void* stream) {
  return stream_of(stream).idle() ? kSuccess : kNotReady;
}
Error stream_wait_event(void* stream, void* event, unsigned) {
  auto e = event_of(event);
  const uint64_t generation = e->recorded();
  if (generation != 0) stream_of(stream).queue([e, generation] { e->wait(generation); });
  return kSuccess;
}
Error launch_host_func(void* stream, void (*function)(void*), void* argument) {
  stream_of(stream).queue([=] { function(argument); });
  return kSuccess;
}

Error event_create_with_flags(void** event, unsigned) {
  *event = new std::shared_ptr<Event>(std::make_shared<Event>());
  return kSuccess;
}
Error event_create(void** event) {
  return event_create_with_flags(event, 0);
}
Error event_destroy(void* event) {
  delete static_cast<std::shared_ptr<Event>*>(event);
  return kSuccess;
}
Error event_record(void* event, void* stream) {
  record(event, stream);
  return kSuccess;
}
Error event_query(void* event) {
  auto e = event_of(event);
  return e->is_reached(e->recorded()) ? kSuccess : kNotReady;
}
Error event_synchronize(void* event) {
  auto e = event_of(event);
  e->wait(e->recorded());
  return kSuccess;
}
Error event_elapsed_time(float* ms, void* start, void* end) {
  *ms = static_cast<float>((event_of(end)->reached_at_s() - event_of(start)->reached_at_s()) * 1e3);
  return kSuccess;
}

// No stream is ever captured.
Error exchange_capture_mode(int* mode) {
  std::swap(*mode, capture_mode);
  return kSuccess;
}
Error is_capturing(void*, int* status) {
  *status = 0;
  return kSuccess;
}
Error capture_info(void*, int* status, unsigned long long* id, void** graph, const void** dependencies,
                   const void** edges, size_t* edge_count) {
  *status = 0;
  if (id) *id = 0;
  if (graph) *graph = nullptr;
  if (dependencies) *dependencies = nullptr;
  if (edges) *edges = nullptr;
  if (edge_count) *edge_count = 0;
  return kSuccess;
}

}  // namespace

std::span<const Call> stream_calls() {
  static const Call calls[] = {
      call("cudaStreamCreateWithFlags", stream_create_with_flags),
      call("cudaStreamCreate", stream_create),
      call("cudaStreamDestroy", stream_destroy),
      call("cudaStreamSynchronize", stream_synchronize),
      call("cudaStreamQuery", stream_query),
      call("cudaStreamWaitEvent", stream_wait_event),
      call("cudaLaunchHostFunc", launch_host_func),
      call("cudaEventCreateWithFlags", event_create_with_flags),
      call("cudaEventCreate", event_create),
      call("cudaEventDestroy", event_destroy),
      call("cudaEventRecord", event_record),
      call("cudaEventQuery", event_query),
      call("cudaEventSynchronize", event_synchronize),
      call("cudaEventElapsedTime", event_elapsed_time),
      call("cudaThreadExchangeStreamCaptureMode", exchange_capture_mode),
      call("cudaStreamIsCapturing", is_capturing),
      call("cudaStreamGetCaptureInfo", capture_info),
  };
  return calls;
}

}  // namespace mrc::nccl_rig::cuda
