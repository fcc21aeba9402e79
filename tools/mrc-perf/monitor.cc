#include "monitor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mrc::perf {

namespace {

double seconds(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}
double gbps(uint64_t bytes, double s) {
  return s > 0 ? static_cast<double>(bytes) * 8e-9 / s : 0;
}

// A plane that only carries probes is not in use: it needs a fiftieth of an equal share, and more than nothing.
constexpr double kInUseShare = 0.02, kMinInUseGbps = 0.001;

// With fewer messages than this between two lines, whole ones are too coarse for the rate.
constexpr uint64_t kEnoughMessages = 8;

}  // namespace

Monitor::Monitor(ibv_context* context, mrc_qp* qp, uint64_t message, bool live, const Timeline& timeline,
                 std::FILE* out)
    : context_(context),
      qp_(qp),
      message_(message),
      live_length_(live ? 1000 : 0),
      row_length_(timeline.row_ms),
      line_length_(timeline.line_ms),
      out_(out) {}

void Monitor::start(Clock::time_point now) {
  begin_ = now;
  const Snapshot stats = read_device_stats(context_);
  live_.start(now, live_length_, stats);
  row_.start(now, row_length_, stats);
  line_.start(now, line_length_, stats);
  next_ = std::min({live_.next(), row_.next(), line_.next()});
  if (line_length_.count() != 0)
    std::fprintf(out_, "%8s %8s %7s  %-24s %7s  %s\n", "ms", "Gb/s", "planes", "Gb/s per plane", "retx",
                 "EVs good/skip/bad/denied");
}

void Monitor::due(Clock::time_point now, uint64_t bytes) {
  const Snapshot stats = read_device_stats(context_);
  if (row_.due(now)) {
    rows_.push_back(row_since(row_, now, stats, bytes));
    row_.advance(now, stats, bytes);
  }
  if (line_.due(now)) timeline_line(now, stats, bytes);
  if (live_.due(now)) live_line(now, stats, bytes);
  next_ = std::min({live_.next(), row_.next(), line_.next()});
}

void Monitor::live_line(Clock::time_point now, const Snapshot& stats, uint64_t bytes) {
  uint64_t sent = 0;
  for (size_t p = 0; p < stats.planes.size(); ++p) sent += live_.sent_by(stats, p);
  const bool by_packets = sent < kEnoughMessages * message_;
  const auto counted = [&](const char* name) { return static_cast<unsigned long long>(live_.counted(stats, name)); };
  std::fprintf(
      out_,
      "  %6.1f s  %7.2f Gb/s%s  this side sent %llu packets again and found %llu such copies needless, %llu timeouts\n",
      seconds(now - begin_), gbps(by_packets ? sent : live_.bytes(bytes), live_.seconds(now)),
      by_packets ? " in packets" : "", counted("retransmits"), counted("spurious_retransmits"), counted("timeouts"));
  std::fflush(out_);
  live_.advance(now, stats, bytes);
}

TimelineRow Monitor::row_since(const ReportInterval& last, Clock::time_point now, const Snapshot& stats,
                               uint64_t bytes) const {
  const QpSnapshot qp = read_qp_stats(qp_);
  TimelineRow row;
  const double elapsed = last.seconds(now);
  row.at_s = seconds(now - begin_);
  row.gbps = gbps(last.bytes(bytes), elapsed);
  row.retransmits = last.counted(stats, "retransmits");
  row.needless = last.counted(stats, "spurious_retransmits");
  uint64_t total = 0;
  for (size_t p = 0; p < stats.planes.size(); ++p) {
    const uint64_t sent = last.sent_by(stats, p);
    row.plane_gbps.push_back(gbps(sent, elapsed));
    total += sent;
  }
  for (double g : row.plane_gbps)
    if (g > kMinInUseGbps && g > kInUseShare * gbps(total, elapsed) / static_cast<double>(row.plane_gbps.size()))
      ++row.planes_in_use;
  row.good = qp.count("GOOD");
  row.skip = qp.count("SKIP");
  row.assumed_bad = qp.count("ASSUMED_BAD");
  row.denied = qp.count("DENIED");
  return row;
}

void Monitor::timeline_line(Clock::time_point now, const Snapshot& stats, uint64_t bytes) {
  const TimelineRow row = row_since(line_, now, stats, bytes);
  std::string planes;
  for (double g : row.plane_gbps) {
    char text[16];
    std::snprintf(text, sizeof text, "%5.2f ", g);
    planes += text;
  }
  std::fprintf(out_, "%8.0f %8.2f %7u  %-24s %7llu  %u/%u/%u/%u\n", row.at_s * 1000, row.gbps, row.planes_in_use,
               planes.c_str(), static_cast<unsigned long long>(row.retransmits), row.good, row.skip, row.assumed_bad,
               row.denied);
  std::fflush(out_);
  line_.advance(now, stats, bytes);
}

nlohmann::json timeline_to_json(const std::vector<TimelineRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const TimelineRow& r : rows)
    list.push_back({{"t", r.at_s},
                    {"gbps", r.gbps},
                    {"planes_in_use", r.planes_in_use},
                    {"plane_gbps", r.plane_gbps},
                    {"retransmits", r.retransmits},
                    {"needless", r.needless},
                    {"good", r.good},
                    {"skip", r.skip},
                    {"assumed_bad", r.assumed_bad},
                    {"denied", r.denied}});
  return list;
}

}  // namespace mrc::perf
