#include "device/srv6.h"

namespace mrc::device {

Result<std::shared_ptr<const datapath::Srv6Plan>> srv6_plan(const Settings& settings, uint32_t planes) {
  datapath::Srv6Plan::Text text;
  text.paths = settings.srv6_paths;
  text.loop = settings.srv6_loop;
  text.uplinks = static_cast<uint32_t>(settings.srv6_uplinks);
  return datapath::Srv6Plan::parse(text, planes);
}

void label_paths(uint32_t planes, PerEv<core::EvEntry>* evs) {
  PerPlane<uint32_t> count(planes);
  for (core::EvEntry& ev : *evs) ev.value = (ev.value & 0xFFFFu) | ++count[ev.plane] << 16;
}

}  // namespace mrc::device
