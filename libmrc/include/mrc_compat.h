/* mrc_compat.h: names of earlier MRC headers, for programs that were written for those. Include it in place of mrc.h,
 * or force it in with the compiler's -include option.
 *
 * `struct mrc_device_attr` was once `struct mrc_attr`. A macro is the only alias that both C and C++ accept behind the
 * word `struct`; it also renames variables called mrc_attr, which changes nothing.
 */
#ifndef MRC_COMPAT_H
#define MRC_COMPAT_H

#include "mrc.h"

#define mrc_attr mrc_device_attr

#endif /* MRC_COMPAT_H */
