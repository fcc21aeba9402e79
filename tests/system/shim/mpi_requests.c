/* The parts of mpi_check that end by requests: non-blocking collectives, with every rank as root at the same time, and
 * one-sided communication. Beside them collectives of neighbours, and sums that return what was there before. */
#include "mpi_check.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static MPI_Request* requests; /* one for each rank */
static int* my_counts;        /* my count for each rank */

/* Not by MPI_Waitall: GCC takes MPICH's MPI_STATUSES_IGNORE for an array that is too small. */
static void wait_for(int n) {
  for (int i = 0; i < n; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static int rooted(void) {
  int bad = 0;
  fill();
  memcpy(theirs + rank * kEach, mine, sizeof(long) * kEach);
  for (int root = 0; root < ranks; ++root)
    MPI_Ibcast(theirs + root * kEach, kEach, MPI_LONG, root, MPI_COMM_WORLD, &requests[root]);
  wait_for(ranks);
  bad += check_all(NULL, 0);
  clear();
  for (int root = 0; root < ranks; ++root)
    MPI_Iscatter(mine, kEach, MPI_LONG, theirs + root * kEach, kEach, MPI_LONG, root, MPI_COMM_WORLD, &requests[root]);
  wait_for(ranks);
  bad += check_all(NULL, rank);
  clear();
  for (int root = 0; root < ranks; ++root)
    MPI_Igather(mine + root * kEach, kEach, MPI_LONG, theirs, kEach, MPI_LONG, root, MPI_COMM_WORLD, &requests[root]);
  wait_for(ranks);
  bad += check_all(NULL, rank);
  clear();
  for (int root = 0; root < ranks; ++root)
    MPI_Ireduce(mine + root * kEach, theirs, kEach, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD, &requests[root]);
  wait_for(ranks);
  bad += check_sums(theirs, kEach, ranks, rank * kEach);
  return bad;
}

static int rooted_by_counts(void) {
  int bad = 0;
  fill();
  for (int root = 0; root < ranks; ++root)
    MPI_Iscatterv(mine, counts, places, MPI_LONG, theirs + root * kEach, counts[rank], MPI_LONG, root, MPI_COMM_WORLD,
                  &requests[root]);
  wait_for(ranks);
  bad += check_all(my_counts, rank);
  clear();
  for (int root = 0; root < ranks; ++root)
    MPI_Igatherv(mine + root * kEach, counts[rank], MPI_LONG, theirs, counts, places, MPI_LONG, root, MPI_COMM_WORLD,
                 &requests[root]);
  wait_for(ranks);
  bad += check_all(counts, rank);
  return bad;
}

static int all_to_all(void) {
  int bad = 0;
  fill();
  MPI_Ialltoall(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_all(NULL, rank);
  clear();
  MPI_Ialltoallv(mine, counts, places, MPI_LONG, theirs, my_counts, places, MPI_LONG, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_all(my_counts, rank);
  clear();
  MPI_Iallgather(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_all(NULL, 0);
  clear();
  MPI_Iallgatherv(mine, counts[rank], MPI_LONG, theirs, counts, places, MPI_LONG, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_all(counts, 0);
  return bad;
}

static int all_to_all_by_types(void) {
  MPI_Datatype* types = malloc(sizeof *types * (size_t)ranks);
  int* bytes = malloc(sizeof *bytes * (size_t)ranks);
  for (int i = 0; i < ranks; ++i) {
    types[i] = MPI_LONG;
    bytes[i] = places[i] * (int)sizeof(long);
  }
  fill();
  MPI_Ialltoallw(mine, counts, bytes, types, theirs, my_counts, bytes, types, MPI_COMM_WORLD, requests);
  wait_for(1);
  free(bytes);
  free(types);
  return check_all(my_counts, rank);
}

static int reductions(void) {
  int bad = 0;
  fill();
  MPI_Ireduce_scatter_block(mine, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_sums(theirs, kEach, ranks, rank * kEach);
  clear();
  MPI_Ireduce_scatter(mine, theirs, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_sums(theirs, counts[rank], ranks, first_of_counts());
  clear();
  MPI_Iscan(mine, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, requests);
  wait_for(1);
  bad += check_sums(theirs, kEach, rank + 1, 0);
  clear();
  MPI_Iexscan(mine, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, requests);
  wait_for(1);
  if (rank > 0) bad += check_sums(theirs, kEach, rank, 0);
  return bad;
}

/* Of a graph in which each rank receives from all in their order, and sends to all in the opposite one. */
static int neighbours(void) {
  const size_t bytes = sizeof(int) * (size_t)ranks;
  int *from = malloc(bytes), *to = malloc(bytes), *weights = malloc(bytes), bad = 0;
  for (int i = 0; i < ranks; ++i) {
    from[i] = i;
    to[i] = ranks - 1 - i;
    weights[i] = 1;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, from, weights, ranks, to, weights, MPI_INFO_NULL, 0, &graph);
  fill();
  MPI_Neighbor_alltoall(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, graph);
  bad += check_all(NULL, ranks - 1 - rank);
  clear();
  MPI_Ineighbor_allgather(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, graph, requests);
  wait_for(1);
  bad += check_all(NULL, 0);
  MPI_Comm_free(&graph);
  free(weights);
  free(to);
  free(from);
  return bad;
}

/* Waits until every rank has done its part, so that the window's memory here is as they left it. */
static void synchronise(MPI_Win win) {
  MPI_Win_flush_all(win);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
}

/* Each rank writes its block into every window, and reads it back. The memory of a request that has ended is free. */
static int put_and_get(const long* window, MPI_Win win) {
  const MPI_Aint at = (MPI_Aint)kEach * rank;
  int bad = 0;
  fill();
  for (int to = 0; to < ranks; ++to)
    MPI_Rput(mine + to * kEach, kEach, MPI_LONG, to, at, kEach, MPI_LONG, win, &requests[to]);
  wait_for(ranks);
  memset(mine, 0x55, sizeof(long) * (size_t)(kEach * ranks));
  synchronise(win);
  for (int from = 0; from < ranks; ++from) bad += check(window + from * kEach, from, rank);
  for (int of = 0; of < ranks; ++of)
    MPI_Rget(theirs + of * kEach, kEach, MPI_LONG, of, at, kEach, MPI_LONG, win, &requests[of]);
  wait_for(ranks);
  for (int of = 0; of < ranks; ++of) bad += check(theirs + of * kEach, rank, of);
  synchronise(win);
  return bad;
}

/* Each rank adds 1 to its block in every window, where put_and_get has left it; then all of them to the last block of
 * rank 0, where the values that they find add up whatever their order. */
static int get_and_add(const long* window, MPI_Win win) {
  int bad = 0;
  for (int i = 0; i < kEach; ++i) mine[i] = 1;
  clear();
  for (int to = 0; to < ranks; ++to)
    MPI_Get_accumulate(mine, kEach, MPI_LONG, theirs + to * kEach, kEach, MPI_LONG, to, (MPI_Aint)kEach * rank, kEach,
                       MPI_LONG, MPI_SUM, win);
  synchronise(win);
  for (int to = 0; to < ranks; ++to) bad += check(theirs + to * kEach, rank, to);
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < kEach; ++i) bad += differ(window[from * kEach + i], value(from, rank, i) + 1);
  clear();
  MPI_Get_accumulate(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, 0, (MPI_Aint)kEach * ranks, kEach, MPI_LONG,
                     MPI_SUM, win);
  synchronise(win);
  MPI_Allreduce(MPI_IN_PLACE, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kEach; ++i) bad += differ(theirs[i], (long)ranks * (ranks - 1) / 2);
  for (int i = 0; rank == 0 && i < kEach; ++i) bad += differ(window[kEach * ranks + i], ranks);
  return bad;
}

static int one_sided(void) {
  const MPI_Aint bytes = (MPI_Aint)sizeof(long) * kEach * (ranks + 1);
  long* window = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  MPI_Win_lock_all(0, win);
  memset(window, 0, (size_t)bytes);
  synchronise(win);
  int bad = put_and_get(window, win);
  bad += get_and_add(window, win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  return bad;
}

int by_requests(void) {
  requests = malloc(sizeof *requests * (size_t)ranks);
  my_counts = malloc(sizeof *my_counts * (size_t)ranks);
  for (int i = 0; i < ranks; ++i) my_counts[i] = counts[rank];
  int bad = rooted() + rooted_by_counts() + all_to_all() + all_to_all_by_types();
  bad += reductions() + neighbours() + one_sided();
  free(my_counts);
  free(requests);
  return bad;
}
