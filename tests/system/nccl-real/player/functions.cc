#include "player/functions.h"

#include <map>
#include <mutex>
#include <vector>

#include "cuda/fatal.h"
#include "cuda/library.h"

namespace mrc::nccl_rig::player {

namespace {

// The rows of ncclDevFuncRowToId, in their order.
std::vector<Function> all_rows() {
  std::vector<Function> rows;
  const auto protocols = [&](Collective c, DeviceOp op, int type, Algorithm a) {
    for (Protocol p : {kLl, kLl128, kSimple}) rows.push_back({c, op, type, a, p});
  };
  const auto reductions = [&](Collective c, const std::vector<Algorithm>& algorithms) {
    for (int op = 0; op < kDeviceOps; ++op)
      for (int type = 0; type < kTypes; ++type)
        for (Algorithm a : algorithms) protocols(c, static_cast<DeviceOp>(op), type, a);
  };
  rows.push_back({kSendRecv, kDevSum, kUint8, kRing, kSimple});
  for (Algorithm a : {kRing, kCollnetDirect, kNvls, kPat}) protocols(kAllGather, kDevSum, kUint8, a);
  protocols(kBroadcast, kDevSum, kUint8, kRing);
  reductions(kAllReduce, {kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree});
  reductions(kReduce, {kRing});
  reductions(kReduceScatter, {kRing, kCollnetDirect, kNvls, kPat});
  return rows;
}

// Where rows share a number, as signed and unsigned sums do, the last one stands for it.
std::map<int, Function> by_number() {
  const Library& library = loaded_library();
  const std::vector<Function> rows = all_rows();
  if (rows.size() + 1 != library.rows || library.row_to_function[rows.size()] != -1)  // one that ends the table
    fatal("libnccl has %zu rows of functions, the rig %zu", library.rows, rows.size());
  std::map<int, Function> functions;
  for (size_t row = 0; row < rows.size(); ++row)
    if (library.row_to_function[row] >= 0) functions[library.row_to_function[row]] = rows[row];
  return functions;
}

}  // namespace

std::string Function::name() const {
  static const char* const collectives[] = {"SendRecv",  "AllGather", "Broadcast",
                                            "AllReduce", "Reduce",    "ReduceScatter"};
  static const char* const ops[] = {"Sum", "Prod", "MinMax", "PreMulSum", "SumPostDiv"};
  static const char* const types[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  static const char* const algorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                           "NVLS_TREE", "PAT"};
  static const char* const protocols[] = {"LL", "LL128", "SIMPLE"};
  std::string text = collectives[collective];
  if (collective >= kAllReduce) text += std::string("_") + ops[op] + "_" + types[type];
  return collective == kSendRecv ? text : text + "_" + algorithms[algorithm] + "_" + protocols[protocol];
}

const Function& function_of(int number) {
  static const std::map<int, Function> functions = by_number();
  const auto found = functions.find(number);
  if (found == functions.end()) fatal("a work with function number %d, which libnccl does not have", number);
  return found->second;
}

}  // namespace mrc::nccl_rig::player
