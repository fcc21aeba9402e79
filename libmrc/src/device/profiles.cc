#include "device/profiles.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "core/congestion/registry.h"
#include "device/clock.h"

namespace mrc::device {

namespace {

uint64_t packet_key(uint32_t bits, PlaneId plane) {
  return uint64_t{plane.value()} << 32 | bits;
}

// The EV in a packet of that format, as from bits_of().
uint32_t leading(const mrc_ctl_ev_t& bytes, EvNaming naming) {
  const uint32_t high = static_cast<uint32_t>(bytes[0] << 8 | bytes[1]) << 16;
  return naming == EvNaming::kLabelAndPort ? high | static_cast<uint32_t>(bytes[2] << 8 | bytes[3]) : high;
}

// The driver's encoding, or its relevant part, left-justified in 32 bits.
uint32_t bits_of(uint32_t value, EvNaming naming) {
  switch (naming) {
    case EvNaming::kPort:
      return value << 16;
    case EvNaming::kLabelAndPort:
      return value;
    case EvNaming::kLabel:
      return value & 0xFFFF0000;
  }
  return 0;
}

}  // namespace

EvNaming naming_of(EvMode mode) {
  switch (mode) {
    case EvMode::kUdpPort:
      return EvNaming::kPort;
    case EvMode::kStructured:
      return EvNaming::kLabelAndPort;
    case EvMode::kSrv6:
      return EvNaming::kLabel;
  }
  return EvNaming::kPort;
}

std::vector<mrc_ctl_ev> ev_names(const PerEv<core::EvEntry>& evs, EvNaming naming) {
  std::vector<mrc_ctl_ev> names;
  for (const core::EvEntry& ev : evs) {
    mrc_ctl_ev name{};
    const uint32_t bits = bits_of(ev.value, naming);
    for (int i = 0; i < 4; ++i) name.val[i] = static_cast<uint8_t>(bits >> (24 - 8 * i));
    name.port = static_cast<uint8_t>(port_of(ev.plane));
    names.push_back(name);
  }
  return names;
}

ctl::Limits controller_limits(uint32_t planes, EvNaming naming) {
  ctl::Limits limits;
  limits.ports = planes;
  limits.format_modes = naming == EvNaming::kPort ? MRC_CTL_EV_FMT_MODE_UDP : MRC_CTL_EV_FMT_MODE_STEV;
  limits.options = MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE | MRC_CTL_OPT_CAP_EV_EVENT | MRC_CTL_OPT_CAP_EP_OP_EV_PROBE;
  limits.cc_algorithms.clear();
  for (const core::CongestionAlgorithm* a : core::congestion_algorithms())
    if (a->profile_name != nullptr) limits.cc_algorithms.emplace_back(a->profile_name);
  return limits;
}

DeviceProfiles::DeviceProfiles(const PerEv<core::EvEntry>& evs, uint32_t planes, EvNaming naming)
    : evs_(evs),
      naming_(naming),
      shown_(evs.size(), MRC_CTL_EV_GOOD),
      store_(controller_limits(planes, naming), ev_names(evs, naming)) {
  for (const EvIndex i : evs_.ids()) by_packet_.emplace(packet_key(bits_of(evs_[i].value, naming), evs_[i].plane), i);
}

mrc_ctl_ev DeviceProfiles::name_of(EvIndex ev_index) const {
  return ev_names({evs_[ev_index]}, naming_)[0];
}

int DeviceProfiles::modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask) {
  const Checked checked(this);
  const int error = store_.modify_ev(id, attr, mask);
  bind(id);  // after an error, too: entries of a batch may have changed
  return error;
}

std::optional<EvIndex> DeviceProfiles::index_of(const ctl::EvProfile& profile, const mrc_ctl_ev& ev) const {
  mrc_ctl_ev_t packet;
  std::copy(std::begin(ev.val), std::end(ev.val), packet);
  const ctl::FormatProfile* format =
      profile.mode() != MRC_CTL_EV_MODE_AUTO ? store_.format(profile.format_id()) : nullptr;
  if (format != nullptr) ctl::expand(ev.val, profile.fields(), format->fields(), &packet);
  const auto found = by_packet_.find(packet_key(leading(packet, naming_), plane_of_port(ev.port)));
  return found != by_packet_.end() ? std::optional(found->second) : std::nullopt;
}

// Rebuilt at each change of an ONLINE profile. That is linear in its entries; filling a profile happens OFFLINE. States
// observed while the profile was not ONLINE, or the entry denied, are applied now [MRC-PROF-7]. If memory runs
// out, the binding stays unchanged.
void DeviceProfiles::bind(uint64_t id) {
  const ctl::EvProfile* profile = store_.ev(id);
  if (profile == nullptr || profile->state() != MRC_CTL_PROFILE_ONLINE) {
    bindings_.erase(id);  // no QP holds it
    return;
  }
  const auto before = bindings_.find(id);
  Binding made;
  PerEv<bool> allowed(evs_.size(), false);
  for (const ctl::EvTable::Entry& entry : profile->table().entries()) {
    const std::optional<EvIndex> index = index_of(*profile, entry.ev);
    if (!index) continue;
    made.names.try_emplace(*index, Name{entry.ev});
    if (entry.state == MRC_CTL_EV_DENIED) continue;
    allowed[*index] = true;
    if (entry.state != shown_[*index]) store_.feed_state(id, entry.ev, shown_[*index]);
  }
  std::vector<EvIndex> changed;  // denied or allowed by this change
  for (auto& [index, name] : made.names) {
    bool denied = false;
    if (before != bindings_.end())
      if (const auto old = before->second.names.find(index); old != before->second.names.end()) {
        name.losses = old->second.losses;
        denied = !before->second.choice->allows(index);
      }
    if (denied == allowed[index]) changed.push_back(index);
  }
  made.choice = before != bindings_.end() ? before->second.choice : std::make_shared<core::EvChoice>();
  Binding& binding = before != bindings_.end() ? before->second : bindings_[id];
  made.choice->allowed = std::move(allowed);
  made.choice->min_active = profile->min_active();
  ++made.choice->generation;
  binding = std::move(made);
  std::sort(changed.begin(), changed.end());
  for (const EvIndex index : changed) trace_operator(index, !binding.choice->allows(index));
}

// [MRC-PROF-9]
void DeviceProfiles::trace_operator(EvIndex ev_index, bool denied) const {
  if (trace_ == nullptr) return;
  const core::EvState state = denied                                       ? core::EvState::kDenied
                              : shown_[ev_index] == MRC_CTL_EV_ASSUMED_BAD ? core::EvState::kAssumedBad
                                                                           : core::EvState::kGood;
  trace_->on_trace(core::TraceEntry::of(
      clock_->now(), Qpn(), core::TraceTrigger::kOperator,
      core::event::EvState{.ev = evs_[ev_index].value, .state = state, .plane = evs_[ev_index].plane}));
}

int DeviceProfiles::hold(uint64_t ev_id, uint64_t cc_id, Hold* out) {
  const Checked checked(this);
  Hold made;
  made.ev_id = ev_id;
  made.cc_id = cc_id;
  if (const int error = store_.hold_ev(ev_id, &made.ev)) return error;
  const int error = made.ev ? check_sendable(ev_id) : 0;
  if (const int second = error != 0 ? error : store_.hold_cc(cc_id, &made.cc)) {
    release(made);
    return second;
  }
  if (made.ev) made.choice = bindings_.at(ev_id).choice;
  try {
    if (made.cc) made.cc_profile = std::make_shared<const ctl::CcProfile>(*store_.cc(cc_id));
    if (holds_changed_ && (made.ev || made.cc)) holds_changed_();
  } catch (const std::bad_alloc&) {
    release(made);
    return ENOMEM;
  }
  *out = made;
  return 0;
}

// A profile that went ONLINE without memory for its binding gets it when it is first used.
int DeviceProfiles::check_sendable(uint64_t ev_id) try {
  if (bindings_.find(ev_id) == bindings_.end()) bind(ev_id);
  return bindings_.at(ev_id).names.empty() ? EINVAL : 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

void DeviceProfiles::release(const Hold& hold) {
  if (hold.ev) store_.release_ev(hold.ev_id);
  if (hold.cc) store_.release_cc(hold.cc_id);
  if (holds_changed_ && (hold.ev || hold.cc)) holds_changed_();
}

// A format is held by EV profiles alone, which all engines have.
uint32_t DeviceProfiles::users(ctl::ProfileKind kind, uint64_t id) const {
  if (kind == ctl::ProfileKind::kFormat) return 0;
  const auto all = kind == ctl::ProfileKind::kEv ? store_.ev_users() : store_.cc_users();
  const auto found = std::find_if(all.begin(), all.end(), [id](const auto& held) { return held.first == id; });
  return found != all.end() ? found->second : 0;
}

void DeviceProfiles::set_users(ctl::ProfileKind kind, uint64_t id, uint32_t users) {
  if (kind == ctl::ProfileKind::kEv) store_.set_ev_users(id, users);
  if (kind == ctl::ProfileKind::kCc) store_.set_cc_users(id, users);
}

int DeviceProfiles::apply(const ctl::ProfileCall& call) {
  const Checked checked(this);
  store_.follow();
  const int error = call.apply(&store_);
  if (call.kind == ctl::ProfileKind::kEv) bind(call.id);
  return error;
}

void DeviceProfiles::replace(const std::vector<ctl::ProfileCall>& calls) {
  const Checked checked(this);
  ctl::ProfileStore fresh(store_.limits(), ev_names(evs_, naming_));
  fresh.follow();
  for (const ctl::ProfileCall& call : calls) (void)call.apply(&fresh);
  store_.follow();
  std::vector<uint64_t> ids = store_.ev_ids();
  store_.replace(std::move(fresh));
  for (uint64_t id : store_.ev_ids()) {
    ids.push_back(id);
    for (const ctl::EvTable::Entry& entry : store_.ev(id)->table().entries())
      if (entry.state == MRC_CTL_EV_ASSUMED_BAD) show(id, entry.ev, entry.state);
  }
  for (uint64_t id : ids) bind(id);
}

// Observations of other processes are equivalent to those of this one: the last one counts [MRC-PROF-7].
void DeviceProfiles::show(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  const ctl::EvProfile* profile = store_.ev(id);
  if (profile == nullptr) return;
  if (const std::optional<EvIndex> index = index_of(*profile, ev)) shown_[*index] = state;
}

std::optional<ctl::EvChange> DeviceProfiles::feed(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  show(id, ev, state);
  return store_.feed(id, ev, state);
}

// [MRC-CCP-1] [MRC-CCP-3]
std::shared_ptr<const core::CongestionConfig> DeviceProfiles::congestion(const Hold& hold,
                                                                         const core::CongestionConfig& base) const {
  if (!hold.cc) return nullptr;
  const ctl::CcProfile* profile = hold.cc_profile.get();
  auto made = std::make_shared<core::CongestionConfig>(base);
  made->algorithm = core::find_profile_algorithm(profile->name());
  if (!profile->is_nscc()) return made;
  const mrc_ctl_cc_nscc_cfg& c = profile->config();
  const auto gain = [](float value) { return value > 0 ? static_cast<double>(value) : -1.0; };
  if (c.base_rtt != 0) {
    made->base_rtt = Duration::nanoseconds(c.base_rtt);
    made->measure_rtt = false;
  }
  made->set("disable_qa", c.disable_qa);
  made->set("adjust_bytes", c.adjust_bytes_threshold);
  made->set("adjust_period", c.adjust_period_threshold);
  made->set("eta", gain(c.eta));
  made->set("fi", gain(c.fi));
  made->set("fi_scale", gain(c.fi_scale));
  made->set("gamma", gain(c.gamma));
  made->set("max_md_jump", gain(c.max_md_jump));
  made->set("max_cwnd", c.max_cwnd);
  made->set("qa_gate", c.qa_gate != 0 ? c.qa_gate : -1);
  made->set("qa_threshold", c.qa_threshold);
  made->set("target_delay", c.target_delay);
  return made;
}

// [MRC-PROF-7] [MRC-EVT-2]
std::vector<ctl::EvChange> DeviceProfiles::on_ev_state(EvIndex ev_index, core::EvState to, uint64_t losses) {
  for (auto& [id, binding] : bindings_)
    if (const auto name = binding.names.find(ev_index); name != binding.names.end()) name->second.losses += losses;
  if (to != core::EvState::kGood && to != core::EvState::kAssumedBad) return {};
  const mrc_ctl_ev_state state = to == core::EvState::kGood ? MRC_CTL_EV_GOOD : MRC_CTL_EV_ASSUMED_BAD;
  shown_[ev_index] = state;
  const auto name_in = [&](uint64_t id) -> Name* {
    const auto bound = bindings_.find(id);
    if (bound == bindings_.end()) return nullptr;
    const auto name = bound->second.names.find(ev_index);
    return name != bound->second.names.end() ? &name->second : nullptr;
  };
  std::vector<ctl::EvChange> changes = store_.on_path(state, [&](uint64_t id, mrc_ctl_ev* ev) {
    const Name* name = name_in(id);
    if (name != nullptr) *ev = name->ev;
    return name != nullptr;
  });
  for (ctl::EvChange& change : changes)
    if (change.wanted) change.losses = std::exchange(name_in(change.profile_id)->losses, 0);
  return changes;
}

// A QP uses only EVs that an entry of its profile names.
void DeviceProfiles::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(shown_.size() == evs_.size());
  if (!pace_.due(bindings_.size() * evs_.size())) return;
  for (const auto& [id, binding] : bindings_) {
    MRC_INVARIANT(binding.choice != nullptr && binding.choice->allowed.size() == evs_.size());
    for (const EvIndex ev : evs_.ids()) MRC_INVARIANT(!binding.choice->allows(ev) || binding.names.count(ev) != 0);
  }
}

}  // namespace mrc::device
