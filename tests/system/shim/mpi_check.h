/* What the parts of mpi_check have in common: the elements that the ranks exchange, and the comparison of those that
 * have arrived. Each check returns how many are wrong. One thread. */
#ifndef MPI_CHECK_H
#define MPI_CHECK_H

enum { kEach = 1 << 12, kLargest = 1 << 20 };

extern int rank, ranks;
extern long *mine, *theirs;  /* kEach elements for each rank, and at least kLargest bytes */
extern int *counts, *places; /* of each rank: some of the elements of its block, and where the block begins */

/* Element i of what rank `from` has for rank `to`. */
long value(int from, int to, int i);
int differ(long is, long should);
/* `fill` gives `mine` its values; both make all of `theirs` wrong. */
void clear(void);
void fill(void);
/* One block of kEach elements. */
int check(const long* block, int from, int to);
/* The block of each rank for `to`; with counts, only so many elements of it. */
int check_all(const int* count, int to);
/* n sums over the ranks below `below`, of the elements from number `at` on of their `mine`. */
int check_sums(const long* block, int n, int below, int at);
/* The number of the first of this rank's elements where each rank has its count of them, one after another. */
int first_of_counts(void);

/* mpi_requests.c: communication that ends by requests. */
int by_requests(void);

#endif
