#include "host_checks.h"

#include <algorithm>

#include "bench.h"
#include "host_facts.h"
#include "host_judge.h"
#include "host_pair.h"

namespace mrc::net_bench {

namespace {

constexpr double kSecondsOfARate = 0.1;
constexpr auto kPairLimit = std::chrono::seconds(10);
constexpr int kMeasuredAgain = 3;  // a suspect, so often: the best counts

// Round robin: host 0 stays, the others turn by one each round; with an odd number one rests. -1: it rests.
int partner_of(int rank, int ranks, int round) {
  const int even = ranks + ranks % 2;
  std::vector<int> order(static_cast<size_t>(even));
  for (int i = 1; i < even; ++i) order[static_cast<size_t>(i)] = 1 + (i - 1 + round) % (even - 1);
  const auto at = std::find(order.begin(), order.end(), rank) - order.begin();
  const int peer = order[static_cast<size_t>(even - 1 - at)];
  return peer < ranks ? peer : -1;
}

// Of a round, the pairs that are not tried.
std::vector<PairSpeed> pairs_given_up(const std::vector<PairSpeed>& pairs, int ranks, int round) {
  const std::vector<bool> silent = given_up(pairs, ranks);
  std::vector<PairSpeed> untried;
  for (int a = 0; a < ranks; ++a) {
    const int b = partner_of(a, ranks, round);
    if (b <= a || (!silent[static_cast<size_t>(a)] && !silent[static_cast<size_t>(b)])) continue;
    PairSpeed p;
    p.a = a, p.b = b, p.tried = false;
    p.error =
        "not tried: host " + std::to_string(silent[static_cast<size_t>(a)] ? a : b) + " exchanges no data with others";
    untried.push_back(p);
  }
  return untried;
}

int partner_in(const std::vector<PairSpeed>& untried, const Rank& rank, int round) {
  const bool rests = std::any_of(untried.begin(), untried.end(),
                                 [&](const PairSpeed& p) { return p.a == rank.rank() || p.b == rank.rank(); });
  return rests ? -1 : partner_of(rank.rank(), rank.ranks(), round);
}

// One round: each rank with a peer, or none. Every rank calls it; the result has each pair once, on every rank.
std::vector<PairSpeed> round_of(Rank& rank, int peer) {
  rank.stage(peer < 0 ? "waiting for the pairs" : "measuring with host " + std::to_string(peer));
  const Listening listening = peer < 0 ? Listening{} : listen_on(rank, rank.net());
  const Json handles = rank.exchange(handle_text(listening.handle));
  Json mine = {{"peer", peer}};
  const Clock::time_point end = rank.set_end(Clock::now() + kPairLimit);
  if (peer >= 0) {
    try {
      HostPair pair(rank, peer, listening.comm, handle_from(handles.at(static_cast<size_t>(peer))));
      const PairMeasured m = pair.measure(kSecondsOfARate);
      mine.update({{"sends", m.sends}, {"rtt_us", m.rtt_us}, {"ahead_us", m.ahead_us}});
      pair.close();
    } catch (const std::exception& e) {  // its connections stay as they are: closing might wait for the peer
      mine["error"] = e.what();
    }
  }
  rank.set_end(end);
  if (listening.comm != nullptr) check(rank.net().close_listen(listening.comm), "closeListen");
  const Json all = rank.exchange(mine);
  std::vector<PairSpeed> pairs;
  for (int a = 0; a < rank.ranks(); ++a) {
    const Json& one = all.at(static_cast<size_t>(a));
    const int b = one.at("peer");
    if (b <= a) continue;
    const Json& other = all.at(static_cast<size_t>(b));
    PairSpeed p;
    p.a = a, p.b = b;
    p.error = one.value("error", other.value("error", std::string()));
    p.a_to_b = one.value("sends", 0.0), p.b_to_a = other.value("sends", 0.0);
    p.rtt_us = one.value("rtt_us", 0.0), p.clock_ahead_us = one.value("ahead_us", 0.0);
    pairs.push_back(p);
  }
  return pairs;
}

void report(Rank& rank, const char* as, const std::vector<PairSpeed>& pairs) {
  if (rank.rank() != 0) return;
  for (const PairSpeed& p : pairs)
    rank.progress({{as,
                    {{"a", p.a},
                     {"b", p.b},
                     {"a_to_b_Gbps", p.a_to_b},
                     {"b_to_a_Gbps", p.b_to_a},
                     {"rtt_us", p.rtt_us},
                     {"clock_ahead_us", p.clock_ahead_us},
                     {"error", p.error},
                     {"tried", p.tried}}}});
}

// A pair by itself. What else its hosts do at a moment is no fault of the pair: the best of some measurements counts.
// None is made that would not change the conclusion; every rank decides it by the same numbers.
std::vector<PairSpeed> alone(Rank& rank, int a, int b, const std::vector<PairSpeed>& all) {
  const int peer = rank.rank() == a ? b : rank.rank() == b ? a : -1;
  std::vector<PairSpeed> best = round_of(rank, peer);
  const auto well = [&](const PairSpeed& p) { return is_well(p, all, rank.ranks()); };
  for (int i = 1; i < kMeasuredAgain && !std::all_of(best.begin(), best.end(), well); ++i) {
    const std::vector<PairSpeed> other = round_of(rank, peer);
    for (size_t k = 0; k < best.size() && k < other.size(); ++k) {
      if (!other[k].error.empty()) continue;
      if (!best[k].error.empty()) best[k] = other[k];
      best[k].a_to_b = std::max(best[k].a_to_b, other[k].a_to_b);
      best[k].b_to_a = std::max(best[k].b_to_a, other[k].b_to_a);
      best[k].rtt_us = std::min(best[k].rtt_us, other[k].rtt_us);
    }
  }
  return best;
}

}  // namespace

Json run_host_checks(Rank& rank) {
  rank.stage("collecting facts");
  Json facts = host_facts(rank.job().at("library"));
  rank.open();
  facts["compare"].update({{"plugin", rank.net().name()},
                           {"plugin ABI", "v" + std::to_string(rank.net().version())},
                           {"device", rank.properties().name != nullptr ? rank.properties().name : "without a name"},
                           {"device speed", std::to_string(rank.properties().speed) + " Mb/s"}});
  rank.progress({{"facts", facts}, {"rank", rank.rank()}});
  std::vector<PairSpeed> pairs;
  const int rounds = rank.ranks() + rank.ranks() % 2 - 1;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<PairSpeed> untried = pairs_given_up(pairs, rank.ranks(), round);
    std::vector<PairSpeed> done = round_of(rank, partner_in(untried, rank, round));
    done.insert(done.end(), untried.begin(), untried.end());
    report(rank, "pair", done);
    pairs.insert(pairs.end(), done.begin(), done.end());
  }
  for (const auto& [a, b] : suspects(pairs, rank.ranks())) report(rank, "again", alone(rank, a, b, pairs));
  // A collective over a pair that cannot exchange data would not end.
  if (std::all_of(pairs.begin(), pairs.end(), [](const PairSpeed& p) { return p.error.empty(); })) {
    run_collective(rank);
    rank.close();
  } else {
    rank.barrier();
  }
  return {{"done", true}};
}

}  // namespace mrc::net_bench
