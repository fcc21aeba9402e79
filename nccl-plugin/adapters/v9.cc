// ncclNetPlugin_v9: sizes are size_t, virtual devices.
#include "adapter.h"

namespace mrc::nccl {

MRC_NET_EXPORT const ncclNet_v9_t ncclNetPlugin_v9 = {
    .name = kName,
    .init = init_process,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v9_t>,
    .listen = listen_plain,
    .connect = connect_device<ncclNetDeviceHandle_v9_t>,
    .accept = accept_device<ncclNetDeviceHandle_v9_t>,
    .regMr = reg_mr<size_t>,
    .regMrDmaBuf = reg_dma_buf,
    .deregMr = dereg_mr,
    .isend = send_plain<size_t>,
    .irecv = recv_plain<size_t>,
    .iflush = flush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = make_vdevice<ncclNetVDeviceProps_v9_t>,
};

}  // namespace mrc::nccl
