/* The interface between NCCL (or RCCL) and a network plugin, versions 6 to 12, in our own words, so that no header of
 * NCCL is needed. C11 and C++. Checked against spec/abi/nccl_net_abi.json by tests/facts/abi/check_nccl_headers.py.
 *
 * A plugin exports data symbols ncclNetPlugin_vN of type ncclNet_vN_t; NCCL takes the newest that it supports. The
 * meaning of the calls, in the order in which NCCL makes them (threads: init, devices, getProperties and setNetAttr
 * from any thread; of one communicator listen, connect, accept, regMr, deregMr and the close calls from its proxy's
 * service thread, isend, irecv, iflush and test from its progress thread. Where connections are shared, one may be
 * registered on while another thread uses it for data; it is closed when no data are under way):
 *
 * init         once per process up to v10, once per communicator from v11 on; anything but ncclSuccess makes NCCL try
 *              its next network
 * devices      number of devices; getProperties describes one
 * makeVDevice  joins devices into a virtual one and returns its number (v9 on)
 * setNetAttr   the communicator's expectations: peers and flows per peer (v11 on)
 * listen       fills the handle, which NCCL carries to the peer byte for byte
 * connect      never blocks: *sendComm stays NULL until the connection is established; called again with the same
 *              handle memory, whose bytes the plugin may change to keep its state
 * accept       the same for *recvComm
 * regMr        memory of later transfers; regMrDmaBuf for device memory by file descriptor
 * isend        *request NULL: the receiver has not posted yet, try again. tag chooses among the members of a group
 * irecv        posts a group of n <= maxRecvs buffers as one request; *request NULL: try again
 * iflush       makes received data visible to the GPU; *request NULL: nothing to wait for
 * test         *done, and sizes received (n of them for a receive); a finished request does not exist any more
 * finalize     ends what init began (v11 on) */
#ifndef MRC_NCCL_NET_ABI_H
#define MRC_NCCL_NET_ABI_H

#include "net_abi/common.h"
#include "net_abi/v10.h"
#include "net_abi/v11.h"
#include "net_abi/v12.h"
#include "net_abi/v6.h"
#include "net_abi/v7.h"
#include "net_abi/v8.h"
#include "net_abi/v9.h"

/* Every version, the newest last. */
#define MRC_NET_VERSIONS(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12)

/* The newest version, whose types code that is independent of versions has. */
typedef ncclNet_v12_t ncclNet_t;
typedef ncclNetProperties_v12_t ncclNetProperties_t;
typedef ncclNetVDeviceProps_v12_t ncclNetVDeviceProps_t;
typedef ncclNetCommConfig_v12_t ncclNetCommConfig_t;
typedef ncclNetDeviceHandle_v12_t ncclNetDeviceHandle_t;
typedef ncclNetAttr_v12_t ncclNetAttr_t;

#endif
