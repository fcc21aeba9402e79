// ncclNetPlugin_v6: no device handles, sizes are int.
#include "adapter.h"

namespace mrc::nccl {

MRC_NET_EXPORT const ncclNet_v6_t ncclNetPlugin_v6 = {
    .name = kName,
    .init = init_process,
    .devices = devices,
    .getProperties = get_properties<ncclNetProperties_v6_t>,
    .listen = listen_plain,
    .connect = connect_plain,
    .accept = accept,
    .regMr = reg_mr<int>,
    .regMrDmaBuf = reg_dma_buf,
    .deregMr = dereg_mr,
    .isend = send_plain<int>,
    .irecv = recv_plain<int>,
    .iflush = flush,
    .test = test,
    .closeSend = close_send,
    .closeRecv = close_recv,
    .closeListen = close_listen,
};

}  // namespace mrc::nccl
