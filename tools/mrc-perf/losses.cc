#include "losses.h"

#include <algorithm>
#include <string>

namespace mrc::perf {

using nlohmann::json;

namespace {
constexpr uint64_t kMaxMerged = 64;  // UDP segments of the kernel
}  // namespace

json loss_counters(const Snapshot& before, const Snapshot& after) {
  const auto counted = [&](const char* name) { return after.counter(name) - before.counter(name); };
  return {{"sent", counted("tx_data")},
          {"again", counted("retransmits")},
          {"duplicates", counted("rx_duplicates")},
          {"trimmed", counted("rx_trimmed")},
          {"corrupted", counted("drop_icrc") + counted("drop_decode")},
          {"overflowed", counted("driver.rx_overflow")}};
}

uint64_t Losses::in_network() const {
  const uint64_t known = needlessly + trimmed + corrupted + overflowed;
  return again > known ? again - known : 0;
}

Losses losses_between(const json& sender, const json& receiver) {
  Losses l;
  l.sent = sender.at("sent").get<uint64_t>();
  l.again = sender.at("again").get<uint64_t>();
  l.needlessly = std::min(l.again, receiver.at("duplicates").get<uint64_t>());  // a network may duplicate packets, too
  l.trimmed = receiver.at("trimmed").get<uint64_t>();
  l.corrupted = receiver.at("corrupted").get<uint64_t>();
  const uint64_t known = l.needlessly + l.trimmed + l.corrupted;
  const uint64_t rest = l.again > known ? l.again - known : 0;
  l.overflowed = std::min(rest, receiver.at("overflowed").get<uint64_t>() * kMaxMerged);
  return l;
}

void add_losses(json* report, bool client, const json& mine, const json& theirs) {
  const char* const me = client ? "client" : "server";
  const char* const peer = client ? "server" : "client";
  json& list = (*report)["losses"] = json::array();
  const auto direction = [&](const char* from, const char* to, const Losses& l) {
    if (l.sent == 0) return;
    list.push_back({{"from", from},
                    {"to", to},
                    {"packets", l.sent},
                    {"sent_again", l.again},
                    {"needlessly", l.needlessly},
                    {"network", l.in_network()},
                    {"trimmed", l.trimmed},
                    {"corrupted", l.corrupted},
                    {"overflowed", l.overflowed}});
  };
  direction(me, peer, losses_between(mine, theirs));
  direction(peer, me, losses_between(theirs, mine));
}

void print_losses(const json& report, std::FILE* out) {
  if (!report.contains("losses")) return;
  for (const json& l : report.at("losses")) {
    const std::string from = l.at("from"), to = l.at("to");
    std::fprintf(out, "%s to %s: ", from.c_str(), to.c_str());
    const auto of = [&](const char* name) { return l.at(name).get<unsigned long long>(); };
    if (of("sent_again") == 0) {
      std::fprintf(out, "none of %llu packets was sent again\n", of("packets"));
      continue;
    }
    std::fprintf(out, "of %llu packets %llu were sent again: %llu lost in the network, %llu needlessly", of("packets"),
                 of("sent_again"), of("network"), of("needlessly"));
    if (of("trimmed") != 0) std::fprintf(out, ", %llu trimmed by switches", of("trimmed"));
    if (of("corrupted") != 0) std::fprintf(out, ", %llu corrupted", of("corrupted"));
    if (of("overflowed") != 0)
      std::fprintf(out, ", up to %llu dropped because the %s's socket was full", of("overflowed"), to.c_str());
    std::fprintf(out, "\n");
  }
}

}  // namespace mrc::perf
