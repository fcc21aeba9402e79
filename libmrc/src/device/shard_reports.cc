// What the engines of one device report to each other (shard_inbox.h): paths that failed [MRC-EVS-16], and changes of
// EVs in profiles, of which the first engine notifies the contexts, once whichever engines observe it.
#include <new>

#include "device/device_impl.h"
#include "device/log.h"

namespace mrc::device {

void DeviceImpl::send_report(ShardInbox* to, const ShardInbox::Report& what) {
  if (!to->push(what))
    log_once(LogLevel::kWarn, "device '" + config.name +
                                  "': an engine does not take the reports of the others: it finds failed paths itself, "
                                  "and events for EVs may be missing");
}

// With SRv6 paths an EV names the same switches in every engine. Source ports are each engine's own, and so are the
// paths that the fabric chooses by them.
void DeviceImpl::on_path_failed(const core::PathReport& path) {
  if (naming_of(config.settings.ev_mode) != EvNaming::kLabel) return;
  try {
    for (const std::shared_ptr<ShardInbox>& other : others) send_report(other.get(), path);
  } catch (const std::bad_alloc&) {  // the others find out by their own losses
  }
}

// An EV that the profile does not have here is one of the reporting engine alone, as those of an automatic profile are.
// Of the others this engine may know already, by its own observation or from mrcd: then there is no change.
void DeviceImpl::take_ev_report(const ctl::EvChange& change) {
  const ctl::EvProfile* profile = profiles.store().ev(change.profile_id);
  if (profile == nullptr) return;
  mrc_ctl_ev_state known;
  if (profile->table().state_of(change.ev, &known) != 0)
    tell(change);
  else
    take_ev_change(change.profile_id, change.ev, change.state, change.losses);
}

void DeviceImpl::take_shard_reports() {
  if (inbox == nullptr) return;
  const std::vector<ShardInbox::Report> reports = inbox->take();
  if (reports.empty()) return;
  const DeviceLock lock(mutex);
  if (forked) return;
  const Instant now = clock_now();
  for (const ShardInbox::Report& told : reports) {
    if (const auto* path = std::get_if<core::PathReport>(&told))
      attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { endpoint->on_path_failed(now, *path); });
    else
      take_ev_report(std::get<ctl::EvChange>(told));
  }
}

}  // namespace mrc::device
