/* mrc_ctl_api_ver.h: version numbers of the MRC controller API (mrc_ctl.h). Same encoding and same rules as
 * mrc_api_ver.h, with an includer's choices of its own: MRC_CTL_API_VER_USED and MRC_CTL_VENDOR_API_VER_USED.
 */
#ifndef MRC_CTL_API_VER_H
#define MRC_CTL_API_VER_H

#include "mrc_api_ver.h"

#define MRC_CTL_API_VER_MAJOR_OFFSET 24
#define MRC_CTL_API_VER_MINOR_OFFSET 16
#define MRC_CTL_API_VER_SUBMINOR_OFFSET 0

/* Usable in #if; arguments are plain integers. */
#define MRC_CTL_API_VER(major, minor, sub)                                                               \
  ((((major) + 0U) << MRC_CTL_API_VER_MAJOR_OFFSET) | (((minor) + 0U) << MRC_CTL_API_VER_MINOR_OFFSET) | \
   (((sub) + 0U) << MRC_CTL_API_VER_SUBMINOR_OFFSET))

#define MRC_CTL_API_CURRENT_VERSION MRC_CTL_API_VER(1, 0, 1)
#define MRC_CTL_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)
#define MRC_CTL_API_VER_LATEST MRC_API_VER_LATEST

#define MRC_CTL_VENDOR_API_CURRENT_VERSION MRC_CTL_API_VER(1, 0, 0)
#define MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)
#define MRC_CTL_VENDOR_API_VER_LATEST MRC_API_VER_LATEST

#ifndef MRC_CTL_API_VER_USED
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#elif MRC_CTL_API_VER_USED == MRC_CTL_API_VER_LATEST
#undef MRC_CTL_API_VER_USED
#define MRC_CTL_API_VER_USED MRC_CTL_API_CURRENT_VERSION
#endif

#if MRC_CTL_API_VER_USED > MRC_CTL_API_CURRENT_VERSION
#error "MRC_CTL_API_VER_USED is newer than this mrc_ctl.h; MRC_CTL_API_VER_LATEST asks for the newest one there is"
#elif MRC_CTL_API_VER_USED < MRC_CTL_API_LAST_SUPPORTED_VERSION
#error "MRC_CTL_API_VER_USED is older than anything this mrc_ctl.h still serves"
#elif MRC_CTL_API_VER_USED == MRC_CTL_API_LAST_SUPPORTED_VERSION
#warning "MRC_CTL_API_VER_USED is the oldest version that mrc_ctl.h serves; the next release may drop it"
#endif

#ifndef MRC_CTL_VENDOR_API_VER_USED
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#elif MRC_CTL_VENDOR_API_VER_USED == MRC_CTL_VENDOR_API_VER_LATEST
#undef MRC_CTL_VENDOR_API_VER_USED
#define MRC_CTL_VENDOR_API_VER_USED MRC_CTL_VENDOR_API_CURRENT_VERSION
#endif

#if MRC_CTL_VENDOR_API_VER_USED > MRC_CTL_VENDOR_API_CURRENT_VERSION
#error \
    "MRC_CTL_VENDOR_API_VER_USED is newer than this mrc_ctl.h; MRC_CTL_API_VER_LATEST asks for the newest one there is"
#elif MRC_CTL_VENDOR_API_VER_USED < MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION
#error "MRC_CTL_VENDOR_API_VER_USED is older than anything this mrc_ctl.h still serves"
#elif MRC_CTL_VENDOR_API_VER_USED == MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION
#warning "MRC_CTL_VENDOR_API_VER_USED is the oldest version that mrc_ctl.h serves; the next release may drop it"
#endif

#endif /* MRC_CTL_API_VER_H */
