// One entry of `workloads`: the keys of each kind, and the conditions between them.
#include <algorithm>
#include <iterator>

#include "sim/helper/scenario.h"

namespace mrc::sim {
namespace {

constexpr int64_t kMaxMessage = 1000000000;

// The NICs that take part; their number. A flow and a trace name theirs themselves.
size_t read_ranks(MapReader* m, const FabricSpec& fabric, WorkloadSpec* w) {
  size_t ranks = fabric.nics();
  if (w->kind == WorkloadKind::kFlow || w->kind == WorkloadKind::kTrace) return ranks;
  w->nics = read_indices(m, "nics", fabric.nics());
  m->flag("shuffle", &w->shuffle);
  std::vector<uint32_t> sorted = w->nics;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) m->bad("nics", "each NIC once");
  if (!w->nics.empty()) ranks = w->nics.size();
  if (ranks < 2) m->bad("nics", "at least two NICs");
  return ranks;
}

// Which of them sends to which.
void read_ends(MapReader* m, const FabricSpec& fabric, size_t ranks, WorkloadSpec* w) {
  if (w->kind == WorkloadKind::kFlow) {
    m->integer("src", &w->src, 0, fabric.nics() - 1);
    m->integer("dst", &w->dst, 0, fabric.nics() - 1);
    m->flag("both_ways", &w->both_ways);
    if (w->src == w->dst || w->dst >= fabric.nics()) m->bad("dst", "another NIC than src");
  }
  // A shift by all ranks would send to oneself.
  if (w->kind == WorkloadKind::kPermutation || w->kind == WorkloadKind::kSendRecv)
    m->integer("shift", &w->shift, 0, static_cast<int64_t>(ranks) - 1);
  if (w->kind == WorkloadKind::kIncast) {
    m->integer("dst", &w->dst, 0, fabric.nics() - 1);
    const bool among = w->nics.empty() || std::find(w->nics.begin(), w->nics.end(), w->dst) != w->nics.end();
    const size_t others = ranks - (among ? 1 : 0);
    w->senders = static_cast<uint32_t>(std::min<size_t>(w->senders, others));
    m->integer("senders", &w->senders, 1, static_cast<int64_t>(others));
  }
}

}  // namespace

WorkloadSpec read_workload(const YAML::Node& node, const Source& source, const FabricSpec& fabric,
                           const std::string& folder, size_t index) {
  WorkloadSpec w;
  MapReader m(node, "workload", source);
  const std::vector<std::string> words(std::begin(kWorkloadWords), std::end(kWorkloadWords));
  std::string kind;
  if (!m.choice("kind", words, &kind)) m.missing("kind");
  w.kind = static_cast<WorkloadKind>(std::find(words.begin(), words.end(), kind) - words.begin());
  w.name = kind + (index == 0 ? "" : std::to_string(index));
  m.text("name", &w.name);
  m.time("start", &w.start, 0, 3600 * kPsPerSecond);
  m.time("connect", &w.connect, 0, w.start);

  using K = WorkloadKind;
  const size_t ranks = read_ranks(&m, fabric, &w);
  if (w.kind != K::kTrace) {
    // A collective's `bytes` are its buffer; only what becomes one message is limited.
    int64_t bytes = static_cast<int64_t>(w.bytes);
    m.bytes("bytes", &bytes, 1, 64 * kMaxMessage);
    w.bytes = static_cast<uint64_t>(bytes);
  }
  const bool ring = w.kind == K::kRingAllReduce || w.kind == K::kAllGather || w.kind == K::kReduceScatter;
  const bool piped = w.kind == K::kFlow || w.kind == K::kPermutation || w.kind == K::kIncast;
  if (piped || w.kind == K::kSendRecv) {
    m.time("until", &w.until, 1, 3600 * kPsPerSecond);
    m.integer("depth", &w.depth, 1, 64);
  }
  read_ends(&m, fabric, ranks, &w);
  if (ring || w.kind == K::kAllToAll || w.kind == K::kTreeAllReduce || w.kind == K::kSendRecv)
    m.integer("rounds", &w.rounds, 1, 100000);
  if (w.kind == K::kRandom) {
    m.number("load", &w.load, 0.001, 2);
    m.time("duration", &w.duration, kPsPerUs, 100 * kPsPerSecond);
  }
  if (ring || w.kind == K::kTrace) {
    std::string next = "received";
    m.choice("next", {"received", "sent"}, &next);
    w.next_when_sent = next == "sent";
  }
  if (w.kind == K::kTrace) {
    if (!m.text("file", &w.file)) m.missing("file");
    if (w.file[0] != '/') w.file = folder + "/" + w.file;
  }
  m.finish();
  if (w.bytes > static_cast<uint64_t>(kMaxMessage) * (ring ? ranks : 1))
    m.bad("bytes", "messages of at most " + std::to_string(kMaxMessage) + " bytes");
  return w;
}

}  // namespace mrc::sim
