/* An MPI job that moves data between all ranks and compares every element: an all-to-all and a sum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kEach = 1 << 15 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = kEach * ranks;
  long* mine = malloc(sizeof(long) * (size_t)count);
  long* theirs = malloc(sizeof(long) * (size_t)count);
  for (int i = 0; i < count; ++i) mine[i] = (long)i * 1000 + rank;
  MPI_Alltoall(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) bad += theirs[i] != (long)(rank * kEach + i % kEach) * 1000 + i / kEach;
  MPI_Allreduce(mine, theirs, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) bad += theirs[i] != (long)i * 1000 * ranks + (long)ranks * (ranks - 1) / 2;
  int all_bad = 0;
  MPI_Allreduce(&bad, &all_bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong elements\n", ranks, all_bad);
  free(mine);
  free(theirs);
  MPI_Finalize();
  return all_bad != 0;
}
