#include "handshake.h"

namespace mrc::nccl {

const char* hello_fault(const Hello& hello, Role role) {
  if (hello.magic != kHelloMagic) return "it does not speak this protocol";
  if (hello.version != kSetupVersion) return "it runs another version of this plugin";
  if (hello.role != role) return "it has the wrong role";
  if (hello.members < 1 || hello.members > kMaxMembers) return "its number of devices is impossible";
  if (hello.lanes < 1 || hello.lanes > kMaxLanes) return "its number of queue pairs is impossible";
  if (hello.traffic_class > kMaxTrafficClass) return "its traffic class is impossible";
  for (int i = 0; i < hello.lanes; ++i)
    if (hello.lane[i].member >= hello.members) return "a queue pair belongs to no device";
  for (int i = 0; i < hello.members; ++i)
    if (hello.member[i].mtu < IBV_MTU_256 || hello.member[i].mtu > IBV_MTU_4096 + 1) return "its MTU is impossible";
  return nullptr;
}

}  // namespace mrc::nccl
