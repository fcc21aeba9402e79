/* Bandwidth and latency between two ranks of MPI, for tools/bench --parts applications.
 *
 * usage: mpi_bandwidth SIZE SECONDS
 *
 * Half of the time rank 0 sends windows of messages, each answered by an empty one; the other half is a ping-pong of
 * messages of the same size. Rank 0 prints {"gbps": payload, "p50_us": half a round trip, "bytes": payload of both}. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 16, kMaxTimes = 1 << 20, kTag = 1 };
#define kBatchSeconds 0.02

static int rank, size;
static char* memory; /* kWindow messages */

/* Messages at once, and an answer when all are there. */
static void window(void) {
  MPI_Request requests[kWindow];
  MPI_Status statuses[kWindow];
  for (int i = 0; i < kWindow; ++i) {
    char* const message = memory + (size_t)i * (size_t)size;
    if (rank == 0) {
      MPI_Isend(message, size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Irecv(message, size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &requests[i]);
    }
  }
  MPI_Waitall(kWindow, requests, statuses);
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  }
}

static void round_trip(void) {
  if (rank == 0) MPI_Send(memory, size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
  MPI_Recv(memory, size, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(memory, size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
}

/* Repeats `step` for that long, in batches of about kBatchSeconds whose lengths rank 0 announces: 0 is the end. The
 * number of steps. */
static long repeat(void (*step)(void), double seconds, double* times, long capacity) {
  const double begin = MPI_Wtime();
  long n = 0;
  for (;;) {
    int batch = 1;
    if (rank == 0) {
      const double took = MPI_Wtime() - begin;
      if (n > 0) batch = (int)(kBatchSeconds * (double)n / took) + 1;
      if (took >= seconds) batch = 0;
      MPI_Send(&batch, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&batch, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (batch == 0) return n;
    for (; batch > 0; --batch, ++n) {
      const double at = MPI_Wtime();
      step();
      if (times != NULL && n < capacity) times[n] = MPI_Wtime() - at;
    }
  }
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size = argc == 3 ? atoi(argv[1]) : 0;
  const double seconds = argc == 3 ? atof(argv[2]) / 2 : 0;
  if (ranks != 2 || size < 1 || seconds <= 0) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -np 2 mpi_bandwidth SIZE SECONDS\n");
    MPI_Finalize();
    return 2;
  }
  memory = malloc((size_t)size * kWindow);
  double* const times = malloc(sizeof(double) * kMaxTimes);
  memset(memory, 1, (size_t)size * kWindow);
  for (int i = 0; i < 8; ++i) window();
  const double begin = MPI_Wtime();
  const long windows = repeat(window, seconds, NULL, 0);
  const double took = MPI_Wtime() - begin;
  const long trips = repeat(round_trip, seconds, times, kMaxTimes);
  if (rank == 0) {
    const size_t kept = (size_t)(trips < kMaxTimes ? trips : kMaxTimes);
    qsort(times, kept, sizeof *times, by_value);
    const double bytes = (double)size * kWindow * (double)windows;
    printf("{\"gbps\": %.6f, \"p50_us\": %.3f, \"bytes\": %.0f}\n", bytes * 8e-9 / took,
           kept > 0 ? times[kept / 2] * 5e5 : 0.0, bytes + 2.0 * size * (double)trips);
  }
  free(times);
  free(memory);
  MPI_Finalize();
  return 0;
}
