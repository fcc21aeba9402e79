#include "device/fault_scope.h"

#include <algorithm>

#include "datapath/fault.h"
#include "datapath/fault_plan.h"

namespace mrc::device {

namespace {

using datapath::FaultRule;

std::shared_ptr<const datapath::FaultPlan> plan_of(const DeviceConfig& device) {
  if (device.settings.fault.empty()) return nullptr;
  auto plan = datapath::parse_fault(device.settings.fault);  // checked when the configuration was read
  return plan ? *std::move(plan) : nullptr;
}

// The device's number of objects of the rule's scope.
uint64_t count_in(const DeviceConfig& device, const FaultRule& rule) {
  if (rule.scope == FaultRule::Scope::kPlane) return device.planes.size();
  if (rule.scope == FaultRule::Scope::kEv)
    return static_cast<uint64_t>(device.settings.ev_count + device.settings.ev_backups);
  return UINT64_MAX;
}

// "concerns planes 5-9, and the device has 4". Planes count from 1 in rules, EVs from 0.
std::string sentence(const FaultRule& rule, uint64_t count) {
  const bool plane = rule.scope == FaultRule::Scope::kPlane;
  const auto number = [plane](uint64_t i) { return std::to_string(i + (plane ? 1 : 0)); };
  const std::string kind = plane ? "plane" : "EV";
  return (rule.low == rule.high ? "concerns " + kind + " " + number(rule.low)
                                : "concerns " + kind + "s " + number(rule.low) + "-" + number(rule.high)) +
         ", and the device has " + std::to_string(count) + (plane ? "" : ", from 0 on");
}

}  // namespace

std::vector<std::string> absent_in_fault(const DeviceConfig& device) {
  std::vector<std::string> absent;
  if (const auto plan = plan_of(device))
    for (const FaultRule& rule : plan->rules)
      if (const uint64_t count = count_in(device, rule); rule.high >= count && rule.high != UINT32_MAX)
        absent.push_back("fault '" + device.settings.fault + "' " + sentence(rule, count));
  return absent;
}

Status check_fault(const std::vector<DeviceConfig>& devices) {
  for (const DeviceConfig& device : devices) {
    const auto plan = plan_of(device);
    if (plan == nullptr) continue;
    for (const FaultRule& rule : plan->rules) {
      // A setting for all devices may be intended for the one with that many planes.
      if (std::any_of(devices.begin(), devices.end(), [&](const DeviceConfig& other) {
            return other.settings.fault == device.settings.fault && rule.low < count_in(other, rule);
          }))
        continue;
      const auto set = device.settings.origins.find("fault");
      return invalid((set != device.settings.origins.end() ? set->second : "device '" + device.name + "': fault") +
                     ": value is '" + device.settings.fault + "', which " + sentence(rule, count_in(device, rule)));
    }
  }
  return {};
}

}  // namespace mrc::device
