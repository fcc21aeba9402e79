#include "datapath/dpdk/dpdk_datapath.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>

namespace mrc::datapath {

namespace {

constexpr char kModuleFile[] = "libmrc-dpdk.so";

// The module in the folder of the library (or program) with this code, else a bare name for the linker's search.
std::string module_file() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&module_file), &self) != 0 && self.dli_fname != nullptr) {
    const std::string own = self.dli_fname;
    const size_t slash = own.rfind('/');
    if (slash != std::string::npos) {
      std::string beside = own.substr(0, slash + 1) + kModuleFile;
      if (::access(beside.c_str(), F_OK) == 0) return beside;
    }
  }
  return kModuleFile;
}

Result<DpdkModuleEntry*> load(const std::string& wanted) {
  const std::string file = wanted.empty() ? module_file() : wanted;
  // Never unloaded: DPDK's threads and exit handlers outlive any datapath.
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* entry = module == nullptr ? nullptr : ::dlsym(module, kDpdkModuleEntry);
  if (entry != nullptr) return reinterpret_cast<DpdkModuleEntry*>(entry);
  const char* why = ::dlerror();
  return Error{
      ELIBACC,
      std::string("no DPDK datapath: ") + (why != nullptr ? why : "no such module") +
          " (built where libdpdk-dev is installed, lies beside libmrc.so; the setting dpdk_module names another file)"};
}

}  // namespace

Result<std::unique_ptr<HostDatapath>> open_dpdk_datapath(const HostConfig& config, const DpdkConfig& dpdk) {
  Result<DpdkModuleEntry*> open = load(dpdk.module);
  if (!open) return std::move(open).error();
  Error error{ELIBACC, {}};
  std::unique_ptr<HostDatapath> opened((*open)(kDpdkModuleVersion, config, dpdk, &error.text, &error.code));
  if (opened == nullptr) return error;
  return opened;
}

}  // namespace mrc::datapath
