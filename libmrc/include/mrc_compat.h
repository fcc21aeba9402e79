/* mrc_compat.h: names of earlier MRC headers, for programs that were written for those. Include it beside mrc.h, before
 * or after, or force it in with the compiler's -include option: it includes nothing, so that a program which chooses
 * among the C library's interfaces (_GNU_SOURCE, _POSIX_C_SOURCE) does so as ever. [API-LIB-2]
 *
 * `struct mrc_device_attr` was once `struct mrc_attr`. A macro is the only alias that both C and C++ accept behind the
 * word `struct`; it also renames variables called mrc_attr, which changes nothing.
 */
#ifndef MRC_COMPAT_H
#define MRC_COMPAT_H

#define mrc_attr mrc_device_attr

#endif /* MRC_COMPAT_H */
