/* An MPI job that moves data between all ranks in every way of MPI and compares each element: point to point, every
 * collective, one-sided under each kind of synchronisation. Prints "N ranks, N wrong elements".
 *
 * usage: mpi_check [SECONDS]
 *
 * All of it once, or again and again for so long. mpi_requests.c has a part of it. */
#include "mpi_check.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kAdds = 25 };

int rank, ranks;
long *mine, *theirs;
int *counts, *places;

long value(int from, int to, int i) {
  return ((long)from * 131 + to) * 1000003 + i;
}
/* The sum of that over the ranks below `below`. */
static long sum(int below, int to, int i) {
  const long n = below;
  return (n * (n - 1) / 2 * 131 + n * to) * 1000003 + n * i;
}
int differ(long is, long should) {
  return is != should;
}
void clear(void) {
  memset(theirs, 0xEE, sizeof(long) * (size_t)(kEach * ranks));
}
void fill(void) {
  for (int to = 0; to < ranks; ++to)
    for (int i = 0; i < kEach; ++i) mine[to * kEach + i] = value(rank, to, i);
  clear();
}
int check(const long* block, int from, int to) {
  int bad = 0;
  for (int i = 0; i < kEach; ++i) bad += differ(block[i], value(from, to, i));
  return bad;
}
int check_all(const int* count, int to) {
  int bad = 0;
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < (count != NULL ? count[from] : kEach); ++i)
      bad += differ(theirs[from * kEach + i], value(from, to, i));
  return bad;
}
int check_sums(const long* block, int n, int below, int at) {
  int bad = 0;
  for (int i = 0; i < n; ++i) bad += differ(block[i], sum(below, (at + i) / kEach, (at + i) % kEach));
  return bad;
}
int first_of_counts(void) {
  int first = 0;
  for (int before = 0; before < rank; ++before) first += counts[before];
  return first;
}

/* Between rank 0 and each other, from a byte to what goes by rendezvous. */
static int ping_pong(void) {
  static const int kSizes[] = {1, 8, 1000, 8192, 65537, kLargest};
  unsigned char *out = (unsigned char*)mine, *in = (unsigned char*)theirs;
  int bad = 0;
  for (size_t s = 0; s < sizeof kSizes / sizeof *kSizes; ++s)
    for (int other = 1; other < ranks; ++other) {
      if (rank != 0 && rank != other) continue;
      const int n = kSizes[s];
      if (rank == 0) {
        for (int i = 0; i < n; ++i) out[i] = (unsigned char)(i * 7 + other + n);
        MPI_Send(out, n, MPI_BYTE, other, n, MPI_COMM_WORLD);
      }
      memset(in, 0xEE, (size_t)n);
      MPI_Recv(in, n, MPI_BYTE, rank == 0 ? other : 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < n; ++i) bad += in[i] != (unsigned char)(i * 7 + other + n);
      if (rank != 0) MPI_Send(in, n, MPI_BYTE, 0, n, MPI_COMM_WORLD);
    }
  return bad;
}

/* Many messages of both ends at once, received in the opposite order of tags. */
static int exchange(void) {
  enum { kMessages = 32, kLong = 64 };
  MPI_Request requests[2 * kMessages];
  MPI_Status statuses[2 * kMessages];
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  int bad = 0;
  fill();
  for (int m = 0; m < kMessages; ++m)
    MPI_Irecv(theirs + (kMessages - 1 - m) * kLong, kLong, MPI_LONG, from, kMessages - 1 - m, MPI_COMM_WORLD,
              &requests[m]);
  for (int m = 0; m < kMessages; ++m)
    MPI_Isend(mine + m * kLong, kLong, MPI_LONG, to, m, MPI_COMM_WORLD, &requests[kMessages + m]);
  MPI_Waitall(2 * kMessages, requests, statuses);
  for (int i = 0; i < kMessages * kLong; ++i) bad += differ(theirs[i], value(from, 0, i));
  return bad;
}

static int rooted(int root) {
  int bad = 0;
  fill();
  if (rank == root) memcpy(theirs, mine, sizeof(long) * kEach);
  MPI_Bcast(theirs, kEach, MPI_LONG, root, MPI_COMM_WORLD);
  bad += check(theirs, root, 0);
  clear();
  MPI_Scatter(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, root, MPI_COMM_WORLD);
  bad += check(theirs, root, rank);
  clear();
  MPI_Gather(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, root, MPI_COMM_WORLD);
  if (rank == root) bad += check_all(NULL, 0);
  clear();
  MPI_Scatterv(mine, counts, places, MPI_LONG, theirs, counts[rank], MPI_LONG, root, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i) bad += differ(theirs[i], value(root, rank, i));
  clear();
  MPI_Gatherv(mine, counts[rank], MPI_LONG, theirs, counts, places, MPI_LONG, root, MPI_COMM_WORLD);
  if (rank == root) bad += check_all(counts, 0);
  clear();
  MPI_Reduce(mine, theirs, kEach, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
  if (rank == root) bad += check_sums(theirs, kEach, ranks, 0);
  return bad;
}

/* A type for each pair of ranks: a part of the block, or every second element of it. */
static int all_to_all_by_types(void) {
  const size_t n = (size_t)ranks;
  MPI_Datatype every_second, *types = malloc(sizeof *types * n);
  int *sent = malloc(sizeof(int) * n), *received = malloc(sizeof(int) * n), *bytes = malloc(sizeof(int) * n);
  int bad = 0;
  MPI_Type_vector(kEach / 2, 1, 2, MPI_LONG, &every_second);
  MPI_Type_commit(&every_second);
  for (int other = 0; other < ranks; ++other) {
    const int whole = (rank + other) % 2 == 0;
    types[other] = whole ? MPI_LONG : every_second;
    sent[other] = whole ? counts[other] : 1;
    received[other] = whole ? counts[rank] : 1;
    bytes[other] = places[other] * (int)sizeof(long);
  }
  fill();
  const long untouched = theirs[0];
  MPI_Alltoallw(mine, sent, bytes, types, theirs, received, bytes, types, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < kEach; ++i) {
      const int moved = types[from] == MPI_LONG ? i < counts[rank] : i % 2 == 0;
      bad += differ(theirs[places[from] + i], moved ? value(from, rank, i) : untouched);
    }
  MPI_Type_free(&every_second);
  free(bytes);
  free(received);
  free(sent);
  free(types);
  return bad;
}

static int all_to_all(void) {
  int bad = 0;
  fill();
  MPI_Alltoall(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, MPI_COMM_WORLD);
  bad += check_all(NULL, rank);
  clear();
  int* expected = malloc(sizeof(int) * (size_t)ranks);
  for (int from = 0; from < ranks; ++from) expected[from] = counts[rank];
  MPI_Alltoallv(mine, counts, places, MPI_LONG, theirs, expected, places, MPI_LONG, MPI_COMM_WORLD);
  bad += check_all(expected, rank);
  free(expected);
  clear();
  MPI_Allgather(mine, kEach, MPI_LONG, theirs, kEach, MPI_LONG, MPI_COMM_WORLD);
  bad += check_all(NULL, 0);
  clear();
  MPI_Allgatherv(mine, counts[rank], MPI_LONG, theirs, counts, places, MPI_LONG, MPI_COMM_WORLD);
  bad += check_all(counts, 0);
  return bad;
}

static int reductions(void) {
  int bad = 0;
  const int all = kEach * ranks;
  fill();
  MPI_Allreduce(mine, theirs, all, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < all; ++i) bad += differ(theirs[i], value(ranks - 1, i / kEach, i % kEach));
  clear();
  MPI_Reduce_scatter_block(mine, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  bad += check_sums(theirs, kEach, ranks, rank * kEach);
  clear();
  MPI_Reduce_scatter(mine, theirs, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  bad += check_sums(theirs, counts[rank], ranks, first_of_counts());
  clear();
  MPI_Scan(mine, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  bad += check_sums(theirs, kEach, rank + 1, 0);
  clear();
  MPI_Exscan(mine, theirs, kEach, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) bad += check_sums(theirs, kEach, rank, 0);
  clear();
  MPI_Request request[2];
  MPI_Status status[2];
  MPI_Iallreduce(mine, theirs, kEach, MPI_LONG, MPI_MIN, MPI_COMM_WORLD, &request[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &request[1]);
  MPI_Waitall(2, request, status);
  bad += check(theirs, 0, 0);
  return bad;
}

/* Each rank writes its block into every window, reads one of every window, and adds to one. */
static int one_sided(void) {
  int bad = 0;
  long* window = NULL;
  MPI_Win win;
  const MPI_Aint each = kEach;
  MPI_Win_allocate((MPI_Aint)sizeof(long) * (each * ranks + 2), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window,
                   &win);
  memset(window, 0, sizeof(long) * (size_t)(each * ranks + 2));
  fill();
  MPI_Win_fence(0, win);
  for (int to = 0; to < ranks; ++to) MPI_Put(mine + to * kEach, kEach, MPI_LONG, to, each * rank, kEach, MPI_LONG, win);
  MPI_Win_fence(0, win);
  for (int from = 0; from < ranks; ++from) bad += check(window + from * kEach, from, rank);
  for (int of = 0; of < ranks; ++of)
    MPI_Get(theirs + of * kEach, kEach, MPI_LONG, of, each * rank, kEach, MPI_LONG, win);
  MPI_Win_fence(0, win);
  for (int of = 0; of < ranks; ++of) bad += check(theirs + of * kEach, rank, of);

  /* Passive target: sums, a counter, and a turn that each rank takes from the one before. */
  const long one = 1;
  long before = -1;
  MPI_Win_lock_all(0, win);
  for (int to = 0; to < ranks; ++to)
    MPI_Accumulate(mine, kEach, MPI_LONG, to, each * to, kEach, MPI_LONG, MPI_SUM, win);
  for (int i = 0; i < kAdds; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, each * ranks, MPI_SUM, win);
    MPI_Win_flush(0, win);
    bad += before < i || before >= (long)kAdds * ranks;
  }
  const long turn = rank, next = rank + 1;
  do {
    MPI_Compare_and_swap(&next, &turn, &before, MPI_LONG, 0, each * ranks + 1, win);
    MPI_Win_flush(0, win);
  } while (before != turn);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int i = 0; i < kEach; ++i) bad += differ(window[rank * kEach + i], value(rank, rank, i) + sum(ranks, 0, i));
  if (rank == 0) bad += differ(window[each * ranks], (long)kAdds * ranks) + differ(window[each * ranks + 1], ranks);
  MPI_Win_unlock(rank, win);

  /* Post, start, complete, wait: from each rank to the next. */
  MPI_Group all, left, right;
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &from, &left);
  MPI_Group_incl(all, 1, &to, &right);
  MPI_Win_post(left, 0, win);
  MPI_Win_start(right, 0, win);
  MPI_Put(mine + to * kEach, kEach, MPI_LONG, to, 0, kEach, MPI_LONG, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  bad += check(window, from, rank);
  MPI_Group_free(&left);
  MPI_Group_free(&right);
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  return bad;
}

/* All of it once: the wrong elements of all ranks. */
static int everything(void) {
  int bad = ping_pong() + exchange(), all_bad = 0;
  for (int root = 0; root < ranks; ++root) bad += rooted(root);
  bad += all_to_all() + all_to_all_by_types() + reductions() + one_sided();
  bad += by_requests();
  MPI_Allreduce(&bad, &all_bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all_bad;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  mine = malloc(sizeof(long) * (size_t)kEach * (size_t)ranks + kLargest);
  theirs = malloc(sizeof(long) * (size_t)kEach * (size_t)ranks + kLargest);
  counts = malloc(sizeof(int) * (size_t)ranks);
  places = malloc(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ranks; ++i) {
    counts[i] = kEach - 37 * i;
    places[i] = i * kEach;
  }
  const double seconds = argc > 1 ? atof(argv[1]) : 0, begin = MPI_Wtime();
  int bad = 0, again;
  do {
    bad += everything();
    again = MPI_Wtime() - begin < seconds;
    MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD); /* rank 0 decides */
  } while (again);
  if (rank == 0) printf("%d ranks, %d wrong elements\n", ranks, bad);
  free(places);
  free(counts);
  free(theirs);
  free(mine);
  MPI_Finalize();
  return bad != 0;
}
