// Properties of one ABI version converted to another: the members that both have. vProps, which differ in length,
// are left to the caller. C++ only, for code that translates between versions: a plugin needs net_abi.h only.
#pragma once

namespace mrc::nccl {

template <typename From, typename To>
void copy_properties(const From& from, To* to) {
#define MRC_NET_COPY(member) \
  if constexpr (requires { to->member, from.member; }) to->member = from.member
  MRC_NET_COPY(name);
  MRC_NET_COPY(pciPath);
  MRC_NET_COPY(guid);
  MRC_NET_COPY(ptrSupport);
  MRC_NET_COPY(regIsGlobal);
  MRC_NET_COPY(forceFlush);
  MRC_NET_COPY(speed);
  MRC_NET_COPY(port);
  MRC_NET_COPY(latency);
  MRC_NET_COPY(maxComms);
  MRC_NET_COPY(maxRecvs);
  MRC_NET_COPY(netDeviceType);
  MRC_NET_COPY(netDeviceVersion);
  MRC_NET_COPY(maxP2pBytes);
  MRC_NET_COPY(maxCollBytes);
  MRC_NET_COPY(maxMultiRequestSize);
  MRC_NET_COPY(railId);
  MRC_NET_COPY(planeId);
#undef MRC_NET_COPY
}

}  // namespace mrc::nccl
