/* mrc_api_ver.h: version numbers of the MRC application API (mrc.h), and the choice an includer makes among them.
 *
 * A version is one 32-bit number: major in bits 31..24, minor in bits 23..16, sub-version in bits 15..0. Two counters
 * run independently: the API itself, and the vendor twin, which covers what the opaque vendor bytes of mrc.h mean.
 *
 * A program may define MRC_API_VER_USED before it includes mrc.h, with MRC_API_VER(major, minor, sub), to see only what
 * that version had; MRC_VENDOR_API_VER_USED likewise. Without it the current version is used, and MRC_API_VER_LATEST
 * stands for the current one whatever that is. Both belong into mrc_context_attr. A version that this header does not
 * know is a compile error, the oldest one still served is a warning. [API-VER-1]
 */
#ifndef MRC_API_VER_H
#define MRC_API_VER_H

#define MRC_API_VER_MAJOR_OFFSET 24
#define MRC_API_VER_MINOR_OFFSET 16
#define MRC_API_VER_SUBMINOR_OFFSET 0

/* Usable in #if; arguments are plain integers. */
#define MRC_API_VER(major, minor, sub)                                                           \
  ((((major) + 0U) << MRC_API_VER_MAJOR_OFFSET) | (((minor) + 0U) << MRC_API_VER_MINOR_OFFSET) | \
   (((sub) + 0U) << MRC_API_VER_SUBMINOR_OFFSET))

#define MRC_API_CURRENT_VERSION MRC_API_VER(1, 0, 1)
#define MRC_API_LAST_SUPPORTED_VERSION MRC_API_VER(0, 0, 0)
#define MRC_API_VER_LATEST 0xFFFFFFFFU

#define MRC_VENDOR_API_CURRENT_VERSION MRC_API_VER(1, 0, 0)
#define MRC_VENDOR_API_LAST_SUPPORTED_VERSION MRC_API_VER(0, 0, 0)
#define MRC_VENDOR_API_VER_LATEST MRC_API_VER_LATEST

#ifndef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#elif MRC_API_VER_USED == MRC_API_VER_LATEST
#undef MRC_API_VER_USED
#define MRC_API_VER_USED MRC_API_CURRENT_VERSION
#endif

#if MRC_API_VER_USED > MRC_API_CURRENT_VERSION
#error "MRC_API_VER_USED is newer than this mrc.h; MRC_API_VER_LATEST asks for the newest one there is"
#elif MRC_API_VER_USED < MRC_API_LAST_SUPPORTED_VERSION
#error "MRC_API_VER_USED is older than anything this mrc.h still serves"
#elif MRC_API_VER_USED == MRC_API_LAST_SUPPORTED_VERSION
#warning "MRC_API_VER_USED is the oldest version that mrc.h serves; the next release may drop it"
#endif

#ifndef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#elif MRC_VENDOR_API_VER_USED == MRC_VENDOR_API_VER_LATEST
#undef MRC_VENDOR_API_VER_USED
#define MRC_VENDOR_API_VER_USED MRC_VENDOR_API_CURRENT_VERSION
#endif

#if MRC_VENDOR_API_VER_USED > MRC_VENDOR_API_CURRENT_VERSION
#error "MRC_VENDOR_API_VER_USED is newer than this mrc.h; MRC_API_VER_LATEST asks for the newest one there is"
#elif MRC_VENDOR_API_VER_USED < MRC_VENDOR_API_LAST_SUPPORTED_VERSION
#error "MRC_VENDOR_API_VER_USED is older than anything this mrc.h still serves"
#elif MRC_VENDOR_API_VER_USED == MRC_VENDOR_API_LAST_SUPPORTED_VERSION
#warning "MRC_VENDOR_API_VER_USED is the oldest version that mrc.h serves; the next release may drop it"
#endif

#endif /* MRC_API_VER_H */
