// Versions of the two APIs and of their vendor twins.
#include "api/public.h"

namespace {

void store(uint32_t* to, uint32_t value) {
  if (to != nullptr) *to = value;
}

}  // namespace

extern "C" {

void mrc_query_version(uint32_t* current_version, uint32_t* last_supported_version, uint32_t* vendor_version,
                       uint32_t* last_supported_vendor_version) {
  store(current_version, MRC_API_CURRENT_VERSION);
  store(last_supported_version, MRC_API_LAST_SUPPORTED_VERSION);
  store(vendor_version, MRC_VENDOR_API_CURRENT_VERSION);
  store(last_supported_vendor_version, MRC_VENDOR_API_LAST_SUPPORTED_VERSION);
}

void mrc_ctl_query_version(uint32_t* current_version, uint32_t* last_supported_version, uint32_t* vendor_version,
                           uint32_t* last_supported_vendor_version) {
  store(current_version, MRC_CTL_API_CURRENT_VERSION);
  store(last_supported_version, MRC_CTL_API_LAST_SUPPORTED_VERSION);
  store(vendor_version, MRC_CTL_VENDOR_API_CURRENT_VERSION);
  store(last_supported_vendor_version, MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION);
}

}  // extern "C"
