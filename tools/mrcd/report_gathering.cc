#include "report_gathering.h"

#include <algorithm>
#include <utility>

namespace mrc::mrcd {

void ReportGathering::gather(Instant now, Done done) {
  const Checked checked(this);
  next_.push_back(std::move(done));
  if (current_) return;
  begin(now);
  tick(now);
}

void ReportGathering::begin(Instant now) {
  Gathering& g = current_.emplace();
  g.token = next_token_++;
  g.until = now + kTimeout;
  g.done.swap(next_);
  std::vector<ClientId> asked = request_(g.token);
  for (const ClientId process : asked) awaited_until_[process] = now + kUnderWay;
  g.missing = std::move(asked);
}

bool ReportGathering::awaits(ClientId process, Instant now) const {
  const auto found = awaited_until_.find(process);
  return found != awaited_until_.end() && found->second > now;
}

void ReportGathering::take(ClientId process, uint64_t token, std::optional<ctl::DeviceReport> report, Instant now) {
  const Checked checked(this);
  if (!current_ || token != current_->token) return;
  Gathering& g = *current_;
  const auto waits = std::find(g.missing.begin(), g.missing.end(), process);
  if (waits == g.missing.end()) return;
  g.missing.erase(waits);
  if (report) g.reports.push_back(*std::move(report));
  tick(now);
}

void ReportGathering::forget(ClientId process) {
  const Checked checked(this);
  awaited_until_.erase(process);
  if (current_) std::erase(current_->missing, process);
}

void ReportGathering::tick(Instant now) {
  const Checked checked(this);
  while (current_ && (current_->missing.empty() || current_->until <= now)) {
    const Gathering ready = std::move(*current_);
    current_.reset();
    if (!next_.empty()) begin(now);
    for (const Done& done : ready.done) done(ready.reports);
  }
}

std::vector<ClientId> ReportGathering::missing() const {
  return current_ ? current_->missing : std::vector<ClientId>();
}

void ReportGathering::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(awaited_until_.size())) return;
  MRC_INVARIANT(next_.empty() || current_);
  if (!current_) return;
  MRC_INVARIANT(current_->token < next_token_ && !current_->done.empty());
  for (const ClientId process : current_->missing) MRC_INVARIANT(awaited_until_.contains(process));
}

}  // namespace mrc::mrcd
