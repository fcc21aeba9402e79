// Inputs of the ranks and the expected results: small numbers that every type holds exactly, so that sums and products
// are exact in any order. Only averages of floating-point numbers have a tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mrc::nccl_rig {

// Element `index` of rank `rank`'s input. `seed` differs from run to run, so that stale data are seen.
double input_value(int type, int op, int rank, size_t index, unsigned seed);
void fill(char* buffer, size_t count, int type, const std::function<double(size_t)>& value);
// Number of elements that differ from `value`.
size_t compare(const char* buffer, size_t count, int type, const std::function<double(size_t)>& value,
               double tolerance);
// Of the reduction of all ranks' inputs.
double reduced_value(int type, int op, int ranks, size_t index, unsigned seed);
// Relative; 0: exact.
double tolerance(int type, int op, int ranks);

}  // namespace mrc::nccl_rig
