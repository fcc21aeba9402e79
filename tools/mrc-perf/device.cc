#include "device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "config_refusal.h"
#include "error.h"
#include "gid.h"

namespace mrc::perf {

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& advice) {
  throw PerfError(what + ": " + std::strerror(errno), advice);
}

std::string known_devices() {
  int count = 0;
  ibv_device** const list = mrc_soft_get_device_list(&count);
  std::string names;
  for (int i = 0; list != nullptr && i < count; ++i)
    names += (i == 0 ? ": " : ", ") + std::string(mrc_soft_get_device_name(list[i]));
  if (list != nullptr) mrc_soft_free_device_list(list);
  return names;
}

}  // namespace

Device::Device(const Options& o) {
  verbs_ = mrc_soft_open_device_by_name(o.device.empty() ? nullptr : o.device.c_str());
  if (verbs_ == nullptr) {
    const int error = errno;
    if (const std::string refusal = tools::config_refusal(); !refusal.empty())
      throw PerfError(refusal, "correct it; mrc-info --params explains every key");
    if (error == ENODEV)
      throw PerfError("no device " + (o.device.empty() ? std::string("is configured") : "is named '" + o.device + "'"),
                      "mrc-info lists the devices" + known_devices());
    throw PerfError("cannot open the device: " + std::string(std::strerror(error)),
                    "mrc-info shows its planes; an address or port may be in use or not on this host");
  }
  name_ = mrc_soft_get_device_name(verbs_->device);
  find_gid(o.gid_index);
  mrc_context_attr attr{};
  attr.mrc_api_version_used = MRC_API_VER_USED;
  mrc_ = mrc_create_context(verbs_, &attr);
  if (mrc_ == nullptr) fail("mrc_create_context", "mrc-info shows what the device can do");
  pd_ = mrc_soft_alloc_pd(verbs_);
  if (pd_ == nullptr) fail("mrc_soft_alloc_pd", "the device is out of protection domains");
}

Device::~Device() {
  if (mrc_ != nullptr) mrc_destroy_context(mrc_);
  if (pd_ != nullptr) mrc_soft_dealloc_pd(pd_);
  if (verbs_ != nullptr) mrc_soft_close_device(verbs_);
}

void Device::find_gid(int wanted) {
  ibv_port_attr port{};
  if (int rc = mrc_soft_query_port(verbs_, 1, &port); rc != 0) {
    errno = rc;
    fail("mrc_soft_query_port", "mrc-info shows the device's ports");
  }
  active_mtu_ = 128U << port.active_mtu;
  auto usable = [&](int index) {
    return index >= 0 && index < port.gid_tbl_len && mrc_soft_query_gid(verbs_, 1, index, &gid_) == 0 && !is_zero(gid_);
  };
  if (wanted >= 0) {
    if (!usable(wanted))
      throw PerfError("GID index " + std::to_string(wanted) + " is empty",
                      "mrc-info lists the GIDs; leave --gid-index out to have one chosen");
    gid_index_ = wanted;
    return;
  }
  if (usable(3)) {
    gid_index_ = 3;
    return;
  }
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    if (usable(i)) {
      gid_index_ = i;
      return;
    }
  }
  throw PerfError("the device has no GID", "give it one in the configuration; mrc-info shows what it has");
}

Memory::Memory(const Device& device, uint64_t size) : size_(std::max<uint64_t>(size, 4096)), own_(true) {
  void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (p == MAP_FAILED)
    fail("no memory for " + std::to_string(size_ >> 20) + " MiB of buffers", "use a smaller --size, --depth or --qps");
  data_ = static_cast<uint8_t*>(p);
  madvise(p, size_, MADV_HUGEPAGE);
  register_with(device);
}

Memory::Memory(const Device& device, uint8_t* data, uint64_t size) : data_(data), size_(size) {
  register_with(device);
}

void Memory::register_with(const Device& device) {
  mr_ = mrc_soft_reg_mr(device.pd(), data_, size_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (mr_ == nullptr) fail("mrc_soft_reg_mr", "the device is out of memory regions");
}

Memory::~Memory() {
  if (mr_ != nullptr) mrc_soft_dereg_mr(mr_);
  if (own_) munmap(data_, size_);
}

}  // namespace mrc::perf
