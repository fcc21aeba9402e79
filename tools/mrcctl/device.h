// The devices as mrcctl sees them: opened by name through libmrc.so, closed at the end.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "mrc.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"

namespace mrcctl {

enum ExitStatus { kGood = 0, kDiffers = 1, kBad = 2 };

// A sentence for stderr; ends the command with exit status 2.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Device {
 public:
  explicit Device(const std::string& name);  // empty: the first one; throws Error
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  ibv_context* verbs() const { return verbs_; }
  mrc_context* context() const { return context_; }
  mrc_ctl_device_attr attributes() const;
  // Its ports, from the mask.
  std::vector<uint8_t> ports() const;
  // Its own EVs, as an automatic profile shows them, and the format they have. Throws Error without the privilege.
  std::vector<mrc_ctl_ev> evs() const;
  mrc_ctl_ev_fmt_mode ev_format() const;
  union ibv_gid gid(int index) const;

 private:
  ibv_context* verbs_ = nullptr;
  mrc_context* context_ = nullptr;
};

std::vector<std::string> device_names();
std::string gid_text(const union ibv_gid& gid);    // empty for an empty entry
union ibv_gid parse_gid(const std::string& text);  // IPv6, or IPv4 as in RoCE v2; throws Error
std::string ev_text(const mrc_ctl_ev& ev, mrc_ctl_ev_fmt_mode format);
const char* format_name(int mode);

}  // namespace mrcctl
