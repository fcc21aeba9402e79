// ncclNetPlugin_v11: a context per communicator.
#include "adapter.h"

namespace mrc::nccl {

MRC_NET_EXPORT const ncclNet_v11_t ncclNetPlugin_v11 = {
    .name = kName,
    .init = init_with_context<ncclNetCommConfig_v11_t>,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v11_t>,
    .listen = listen,
    .connect = connect_context<ncclNetDeviceHandle_v11_t>,
    .accept = accept_device<ncclNetDeviceHandle_v11_t>,
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
    .makeVDevice = make_vdevice<ncclNetVDeviceProps_v11_t>,
    .finalize = finalize,
    .setNetAttr = set_net_attr<ncclNetAttr_v11_t>,
};

}  // namespace mrc::nccl
