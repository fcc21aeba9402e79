// nccl-rig: NVIDIA's NCCL over a net plugin without a GPU. See --help.
#include <cstdio>
#include <cstdlib>

#include "cuda/elf_image.h"
#include "cuda/library.h"
#include "rig/board.h"
#include "rig/launcher.h"
#include "rig/rank.h"

namespace {

constexpr int kSkipped = 77;  // what ctest takes for "skipped"

}  // namespace

int main(int argc, char** argv) {
  using namespace mrc::nccl_rig;
  try {
    const Options options = parse_options(argc, argv);
    if (const char* rank = getenv(kRankVariable))
      return run_rank(options, atoi(rank), Board::attach(atoi(getenv(kBoardVariable))));
    require_library(find_library());
    return run_all(options, argv);
  } catch (const BadOption& e) {
    fprintf(stderr, "nccl-rig: %s\n", e.what());
    return 2;
  } catch (const NoLibrary& e) {
    printf("skipped: %s\n", e.what());
    return kSkipped;
  } catch (const std::exception& e) {
    fprintf(stderr, "nccl-rig: %s\n", e.what());
    return 1;
  }
}
