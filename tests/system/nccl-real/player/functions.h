// Which collective, operator, type, algorithm and protocol the number of a function stands for.
#pragma once

#include <string>

#include "player/layout.h"

namespace mrc::nccl_rig::player {

enum Collective { kSendRecv, kAllGather, kBroadcast, kAllReduce, kReduce, kReduceScatter };
enum Algorithm { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat };
enum DeviceOp { kDevSum, kDevProd, kDevMinMax, kDevPreMulSum, kDevSumPostDiv, kDeviceOps };
constexpr int kTypes = 12;  // in the order of NcclType; rows of device code have signed types after unsigned ones

struct Function {
  Collective collective;
  DeviceOp op;
  int type;  // NcclType; kUint8 where data are only moved
  Algorithm algorithm;
  Protocol protocol;
  std::string name() const;
};

// Ends the process where the number is not one of the loaded library's.
const Function& function_of(int number);

}  // namespace mrc::nccl_rig::player
