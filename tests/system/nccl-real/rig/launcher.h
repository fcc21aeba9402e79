// The parent of a run: starts a process per rank, reads what they write, ends them all where one fails.
#pragma once

#include "rig/options.h"

namespace mrc::nccl_rig {

// First characters of the lines of a rank's standard output that are not NCCL's log.
constexpr char kToUser = '\1', kToReport = '\2';

constexpr const char* kRankVariable = "NCCL_RIG_RANK";
constexpr const char* kBoardVariable = "NCCL_RIG_BOARD";

// Exit code of the run.
int run_all(const Options& options, char** argv);

}  // namespace mrc::nccl_rig
