// ncclNetPlugin_v8: regIsGlobal, regMr with size_t.
#include "adapter.h"

namespace mrc::nccl {

MRC_NET_EXPORT const ncclNet_v8_t ncclNetPlugin_v8 = {
    .name = kName,
    .init = init_process,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v8_t>,
    .listen = listen_plain,
    .connect = connect_device<ncclNetDeviceHandle_v8_t>,
    .accept = accept_device<ncclNetDeviceHandle_v8_t>,
    .regMr = reg_mr<size_t>,
    .regMrDmaBuf = reg_dma_buf,
    .deregMr = dereg_mr,
    .isend = send_plain<int>,
    .irecv = recv_plain<int>,
    .iflush = flush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
};

}  // namespace mrc::nccl
