// ncclNetPlugin_v10: traffic class at connect, profiler handles.
#include "adapter.h"

namespace mrc::nccl {

namespace {

ncclResult_t init_profiled(ncclDebugLogger_t logger, ncclProfilerCallback_t profiler) {
  use_profiler(profiler);
  return init_process(logger);
}

ncclResult_t connect_with_config(int number, ncclNetCommConfig_v10_t* config, void* handle, void** comm,
                                 ncclNetDeviceHandle_v10_t** device) {
  if (device != nullptr) *device = nullptr;
  return connect(nullptr, number, config != nullptr ? config->trafficClass : NCCL_NET_TRAFFIC_CLASS_UNDEF, handle,
                 comm);
}

}  // namespace

MRC_NET_EXPORT const ncclNet_v10_t ncclNetPlugin_v10 = {
    .name = kName,
    .init = init_profiled,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v10_t>,
    .listen = listen_plain,
    .connect = connect_with_config,
    .accept = accept_device<ncclNetDeviceHandle_v10_t>,
    .regMr = reg_mr<size_t>,
    .regMrDmaBuf = reg_dma_buf,
    .deregMr = dereg_mr,
    .isend = send_profiled,
    .irecv = recv_profiled,
    .iflush = flush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = make_vdevice<ncclNetVDeviceProps_v10_t>,
};

}  // namespace mrc::nccl
