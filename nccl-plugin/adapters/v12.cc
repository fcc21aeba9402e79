// ncclNetPlugin_v12: virtual devices of eight, rails and planes.
#include "adapter.h"

namespace mrc::nccl {

MRC_NET_EXPORT const ncclNet_v12_t ncclNetPlugin_v12 = {
    .name = kName,
    .init = init_with_context<ncclNetCommConfig_v12_t>,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v12_t>,
    .listen = listen,
    .connect = connect_context<ncclNetDeviceHandle_v12_t>,
    .accept = accept_device<ncclNetDeviceHandle_v12_t>,
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
    .makeVDevice = make_vdevice<ncclNetVDeviceProps_v12_t>,
    .finalize = finalize,
    .setNetAttr = set_net_attr<ncclNetAttr_v12_t>,
};

}  // namespace mrc::nccl
