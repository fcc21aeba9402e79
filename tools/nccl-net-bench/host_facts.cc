#include "host_facts.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "bridge.h"
#include "fd.h"
#include "net.h"
#include "shell.h"
#include "shell_word.h"
#include "version.h"

namespace mrc::net_bench {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line.empty() ? "unknown" : line;
}

// The other tools lie beside this one: in one folder as installed, in folders of their names as built.
std::string sibling(const std::string& tool) {
  char self[PATH_MAX] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return tool;
  const std::string folder = std::string(self).substr(0, std::string(self).rfind('/'));
  for (const std::string& path : {folder + "/" + tool, folder + "/../" + tool + "/" + tool})
    if (access(path.c_str(), X_OK) == 0) return path;
  return tool;
}

class Ethtool {
 public:
  Ethtool() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

  std::string offload(const std::string& interface, uint32_t command) const {
    ethtool_value value{command, 0};
    ifreq request{};
    strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (ioctl(fd_.get(), SIOCETHTOOL, &request) != 0) return "unknown";
    return value.data != 0 ? "on" : "off";
  }

 private:
  Fd fd_;
};

void add_interface(Json* compare, const std::string& title, const std::string& interface) {
  static const Ethtool ethtool;
  (*compare)[title + " MTU"] = first_line("/sys/class/net/" + interface + "/mtu");
  (*compare)[title + " GSO"] = ethtool.offload(interface, ETHTOOL_GGSO);
  (*compare)[title + " GRO"] = ethtool.offload(interface, ETHTOOL_GGRO);
}

// Where the planes are those of a software MRC device, by mrc-info; false: there is none.
bool add_planes(Json* facts) {
  int status = 0;
  const std::string text = output_of(tools::shell_quoted(sibling("mrc-info")) + " --json 2>/dev/null", &status);
  const Json info = Json::parse(text, nullptr, false);
  if (!info.is_object() || !info.contains("devices")) return false;
  Json& compare = (*facts)["compare"];
  for (const Json& device : info.at("devices")) {
    const std::string name = device.value("name", std::string("?"));
    const Json planes = device.value("planes", Json::array());
    compare[name + " MTU of packets"] = std::to_string(device.value("mtu", 0));
    compare[name + " planes"] = std::to_string(planes.size());
    for (const Json& plane : planes) {
      const std::string title = name + " plane " + std::to_string(plane.value("plane", 0));
      const std::string interface = plane.value("interface", std::string()),
                        address = plane.value("address", std::string());
      compare[title + " port"] = plane.value("up", false) ? "up" : "down";
      if (!interface.empty()) add_interface(&compare, title, interface);
      // Planes of a device without a configuration are on loopback, on every host.
      if (!address.empty() && address != "::1" && !address.starts_with("127.")) (*facts)["addresses"][title] = address;
    }
  }
  return true;
}

void add_interfaces(Json* facts) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (i->ifa_addr->sa_family != AF_INET || is_internal_bridge(i->ifa_name)) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text, sizeof text);
    (*facts)["addresses"][i->ifa_name] = text;
    add_interface(&(*facts)["compare"], i->ifa_name, i->ifa_name);
  }
  freeifaddrs(first);
}

// The file from which `handle` was loaded.
std::string file_of(void* handle) {
  for (int version : nccl_net::kVersions) {
    Dl_info info{};
    const void* const table = dlsym(handle, ("ncclNetPlugin_v" + std::to_string(version)).c_str());
    if (table != nullptr && dladdr(table, &info) != 0 && info.dli_fname != nullptr) return info.dli_fname;
  }
  return "";
}

// Size and FNV hash of the file: another build is another value.
std::string build_of(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return "cannot be loaded";
  std::ifstream in(file_of(handle), std::ios::binary);
  dlclose(handle);
  uint64_t hash = 0xcbf29ce484222325, size = 0;
  char part[65536];
  while (in.read(part, sizeof part), in.gcount() > 0)
    for (std::streamsize i = 0; i < in.gcount(); ++i, ++size)
      hash = (hash ^ static_cast<unsigned char>(part[i])) * 0x100000001b3;
  char number[64];
  snprintf(number, sizeof number, "%016lx (%lu bytes)", static_cast<unsigned long>(hash),
           static_cast<unsigned long>(size));
  return number;
}

}  // namespace

Json host_facts(const std::string& library) {
  Json facts = {{"compare", Json::object()}, {"addresses", Json::object()}};
  Json& compare = facts["compare"];
  utsname kernel{};
  uname(&kernel);
  compare["kernel"] = std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine;
  compare["processors"] = std::to_string(std::thread::hardware_concurrency());
  compare["nccl-net-bench version"] = support::version();
  compare["plugin build"] = build_of(library);
  for (const char* name : {"rmem_max", "wmem_max", "netdev_max_backlog"})
    compare[std::string("net.core.") + name] = first_line(std::string("/proc/sys/net/core/") + name);
  if (!add_planes(&facts)) add_interfaces(&facts);
  return facts;
}

}  // namespace mrc::net_bench
