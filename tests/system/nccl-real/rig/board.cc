#include "rig/board.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace mrc::nccl_rig {

namespace {

void* map(int descriptor) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to share with the ranks");
  return memory;
}

}  // namespace

Board* Board::create(int processes, int* descriptor) {
  *descriptor = memfd_create("nccl-rig", 0);
  if (*descriptor < 0 || ftruncate(*descriptor, sizeof(Board)) != 0) throw std::runtime_error("memfd_create failed");
  auto* board = new (map(*descriptor)) Board;
  board->processes_ = processes;
  board->all_ = processes;
  return board;
}

Board* Board::attach(int descriptor) {
  return static_cast<Board*>(map(descriptor));
}

void Board::barrier() {
  const unsigned generation = generation_;
  if (++waiting_ >= processes_) {
    waiting_ = 0;
    ++generation_;
    return;
  }
  for (int looks = 0; generation_ == generation; ++looks) {
    if (failed_) throw PeerFailed("another rank failed");
    // After a second it waits for the next slice, while others are measured.
    const timespec pause{0, looks < 100 ? 10'000 : looks < 2000 ? 500'000 : 10'000'000};
    nanosleep(&pause, nullptr);
  }
}

void Board::lose_process() {
  barrier();
  if (processes_ == all_) processes_ = all_ - 1;
}

double Board::maximum(int process, double value) {
  values_[process] = value;
  barrier();
  const double result = *std::max_element(values_, values_ + processes_);
  barrier();
  return result;
}

double Board::sum(int process, double value) {
  values_[process] = value;
  barrier();
  double total = 0;
  for (int i = 0; i < processes_; ++i) total += values_[i];
  barrier();
  return total;
}

NcclUniqueId Board::share_id(int process, const NcclUniqueId& own) {
  if (process == 0) id_ = own;
  barrier();
  const NcclUniqueId id = id_;
  barrier();
  return id;
}

}  // namespace mrc::nccl_rig
