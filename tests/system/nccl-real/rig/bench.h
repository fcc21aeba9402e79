// The measuring loop of nccl-tests.
#pragma once

#include "rig/rank.h"

namespace mrc::nccl_rig {

// Every test, type, operator and size; prints the table. Returns the exit code: 1 where elements were wrong.
int run_bench(const Process& process);

// Measures what standard input asks for (--slices), on communicators that stay. Returns the exit code.
int run_slices(const Process& process);

// One collective with fresh data on communicators that exist; returns how many elements of this process are wrong.
// `sub_rank` and `sub_ranks` for communicators that are not of all ranks; -1: all.
size_t check_once(const Process& process, std::vector<Gpu>* gpus, const std::string& test, size_t bytes, int type,
                  int op, unsigned seed, bool in_place = false, int sub_rank = -1, int sub_ranks = -1);

}  // namespace mrc::nccl_rig
