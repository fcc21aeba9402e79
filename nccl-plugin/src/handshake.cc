#include "handshake.h"

namespace mrc::nccl {

const char* setup_fault(const SetupMessage& message, Role role) {
  if (message.magic != kSetupMagic) return "it does not speak this protocol";
  if (message.version != kSetupVersion) return "it runs another version of this plugin";
  if (message.role != role) return "it has the wrong role";
  if (message.members < 1 || message.members > kMaxMembers) return "its number of devices is impossible";
  if (message.lanes < 1 || message.lanes > kMaxLanes) return "its number of queue pairs is impossible";
  if (message.traffic_class > kMaxTrafficClass) return "its traffic class is impossible";
  for (int i = 0; i < message.lanes; ++i)
    if (message.lane[i].member >= message.members) return "a queue pair belongs to no device";
  for (int i = 0; i < message.members; ++i)
    if (message.member[i].mtu < IBV_MTU_256 || message.member[i].mtu > IBV_MTU_4096 + 1) return "its MTU is impossible";
  return nullptr;
}

}  // namespace mrc::nccl
