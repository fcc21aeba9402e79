#include "rig/bench.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "cuda/device.h"
#include "player/reduce.h"
#include "process_time.h"
#include "rig/clock.h"
#include "rig/collectives.h"
#include "rig/values.h"

namespace mrc::nccl_rig {

namespace {

// One collective on this process's ranks: buffers, runs, comparison.
class Measurement {
 public:
  Measurement(const Process& process, std::vector<Gpu>* gpus, const Collective& what, size_t bytes, int type, int op,
              bool in_place, int sub_rank, int sub_ranks)
      : process_(process), gpus_(gpus), what_(what), in_place_(in_place) {
    const int ranks = sub_ranks > 0 ? sub_ranks : process.options.ranks();
    const size_t size = player::type_size(type);
    for (const Gpu& gpu : *gpus) {
      Run run{};
      run.api = &process.api;
      run.comm = gpu.comm;
      run.stream = gpu.stream;
      run.rank = sub_rank >= 0 ? sub_rank : gpu.rank;
      run.ranks = ranks;
      run.type = type;
      run.op = op;
      run.root = process.options.root % ranks;
      run.count = what.count(bytes / size, ranks);
      const size_t send = what.send_elements(run) * size, recv = what.recv_elements(run) * size;
      const long offset = in_place ? what.in_place_offset(run) * static_cast<long>(size) : 0;
      buffers_.push_back(std::make_unique<DeviceBuffer>(in_place ? std::max(send, recv) : recv, gpu.device));
      run.recv = buffers_.back()->data() + (offset < 0 ? -offset : 0);
      register_buffer(gpu, buffers_.back()->data(), in_place ? std::max(send, recv) : recv);
      if (in_place) {
        run.send = buffers_.back()->data() + (offset > 0 ? offset : 0);
      } else {
        buffers_.push_back(std::make_unique<DeviceBuffer>(send, gpu.device));
        run.send = buffers_.back()->data();
        register_buffer(gpu, run.send, send);
      }
      runs_.push_back(run);
    }
  }
  ~Measurement() {
    for (const auto& [comm, handle] : registered_)
      if (!gpus_->empty()) process_.api.CommDeregister(comm, handle);  // an error has aborted them otherwise
  }

  const Run& first() const { return runs_[0]; }

  void prepare(unsigned seed) {
    for (Run& run : runs_) {
      run.seed = seed;
      if (!in_place_) memset(run.recv, 0xee, what_.recv_elements(run) * player::type_size(run.type));
      fill(run.send, what_.send_elements(run), run.type, [&](size_t i) { return what_.input(run, i); });
    }
  }
  void start() {
    if (runs_.size() > 1) check(process_.api, process_.api.GroupStart(), "ncclGroupStart");
    for (size_t i = 0; i < runs_.size(); ++i) {
      cuda::set_current_device((*gpus_)[i].device);
      check(process_.api, what_.start(runs_[i]), "starting a collective");
    }
    if (runs_.size() > 1) check(process_.api, process_.api.GroupEnd(), "ncclGroupEnd");
  }
  size_t wrong() const {
    size_t count = 0;
    for (const Run& run : runs_)
      if (what_.checked(run))
        count += compare(
            run.recv, what_.recv_elements(run), run.type, [&](size_t i) { return what_.output(run, i); },
            what_.reduces() ? tolerance(run.type, run.op, run.ranks) : 0);
    return count;
  }
  struct Cost {
    double seconds = 0;  // of one run on the slowest process
    double cpu_s = 0;    // of one run, all processes together
  };
  Cost time(int iterations) {
    process_.board.barrier();
    const double began = now_s(), cpu_before_s = tools::cpu_seconds();
    for (int i = 0; i < iterations; ++i) start();
    wait_for(process_, gpus_);
    const double seconds = now_s() - began, used_s = tools::cpu_seconds() - cpu_before_s;
    return {process_.board.maximum(process_.number, seconds / iterations),
            process_.board.sum(process_.number, used_s / iterations)};
  }

 private:
  void register_buffer(const Gpu& gpu, char* buffer, size_t bytes) {
    if (!process_.options.register_buffers || bytes == 0) return;
    void* handle = nullptr;
    check(process_.api, process_.api.CommRegister(gpu.comm, buffer, bytes, &handle), "ncclCommRegister");
    registered_.emplace_back(gpu.comm, handle);
  }

  const Process& process_;
  std::vector<Gpu>* gpus_;
  const Collective& what_;
  const bool in_place_;
  std::vector<Run> runs_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<std::pair<NcclComm, void*>> registered_;
};

struct Figures {
  Measurement::Cost run;  // the means over the batches
  size_t wrong = 0;
  std::vector<std::tuple<double, double, int>> batches;  // when each began and ended, now_s(), and its runs
};

// Of a Measurement that is prepared.
Figures measure(const Process& process, std::vector<Gpu>* gpus, Measurement* m, unsigned seed) {
  const Options& o = process.options;
  Figures figures;
  if (o.warm_up > 0) m->time(o.warm_up);
  const double began = now_s();  // the warm-up can take longer than the duration, on a busy machine
  bool again = false;
  int batches = 0;
  const auto add = [&figures, &o](double from, double to, int runs) {
    if (o.timeline) figures.batches.emplace_back(from, to, runs);
  };
  do {
    if (o.iterations > 0) {
      const Measurement::Cost run = m->time(o.iterations);
      const double end = now_s();
      ++batches;
      figures.run.seconds += (run.seconds - figures.run.seconds) / batches;
      figures.run.cpu_s += (run.cpu_s - figures.run.cpu_s) / batches;
      add(end - run.seconds * o.iterations, end, o.iterations);
    }
    if (o.check) {
      m->prepare(++seed);  // a run in place has changed its input
      process.board.barrier();
      const double start = now_s();
      m->start();
      wait_for(process, gpus);
      add(start, now_s(), 1);
      figures.wrong += static_cast<size_t>(process.board.sum(process.number, static_cast<double>(m->wrong())));
    }
    again = process.number == 0 && now_s() - began < o.duration_s && !process.board.finishing();
  } while (process.board.maximum(process.number, again ? 1 : 0) > 0);
  return figures;
}

// Algorithm bandwidth as nccl-tests counts it, GB/s.
double algorithm_gb_s(const Figures& f, size_t bytes) {
  return f.run.seconds > 0 ? static_cast<double>(bytes) / f.run.seconds / 1e9 : 0;
}

std::string columns(const Figures& f, size_t bytes, double factor, bool checked) {
  const double algorithm = algorithm_gb_s(f, bytes);
  char text[80];
  snprintf(text, sizeof text, " %10.1f %7.2f %7.2f %7s", f.run.seconds * 1e6, algorithm, algorithm * factor,
           checked ? std::to_string(f.wrong).c_str() : "N/A");
  return text;
}

nlohmann::json as_json(const Figures& f, size_t bytes, double factor) {
  const double algorithm = algorithm_gb_s(f, bytes);
  return {{"time_us", f.run.seconds * 1e6},
          {"cpu_us", f.run.cpu_s * 1e6},
          {"algbw_gb_s", algorithm},
          {"busbw_gb_s", algorithm * factor},
          {"wrong", f.wrong}};
}

// One line of the table; returns whether all elements were right.
bool run_line(const Process& process, std::vector<Gpu>* gpus, const std::string& test, size_t bytes, int type, int op,
              unsigned seed) {
  const Options& o = process.options;
  const Collective& what = collective(test);
  size_t moved = 0, count = 0;
  const double factor = what.bus_factor(o.ranks());
  std::string text[2];
  nlohmann::json json = {{"test", test}, {"type", type_name(type)}, {"op", what.reduces() ? op_name(op) : "none"}};
  bool right = true;
  for (int in_place = 0; in_place < 2; ++in_place) {
    if (in_place && (!o.in_place || !what.in_place_possible())) {
      text[in_place] = "        N/A     N/A     N/A     N/A";
      continue;
    }
    Measurement m(process, gpus, what, bytes, type, op, in_place != 0, -1, -1);
    moved = std::max(what.send_elements(m.first()), what.recv_elements(m.first())) * player::type_size(type);
    count = m.first().count;
    const unsigned own_seed = seed + 2 * static_cast<unsigned>(in_place);
    m.prepare(own_seed);
    const Figures f = measure(process, gpus, &m, own_seed);
    right &= f.wrong == 0;
    text[in_place] = columns(f, moved, factor, o.check);
    json[in_place ? "in_place" : "out_of_place"] = as_json(f, moved, factor);
    if (o.timeline) json["timeline"] = f.batches;
  }
  if (process.number == 0) {
    say("%12zu %12zu %8s %6s %5d%s%s", moved, count, type_name(type), what.reduces() ? op_name(op) : "none",
        what.rooted() ? o.root : -1, text[0].c_str(), text[1].c_str());
    json["bytes"] = moved;
    report(json.dump());
  }
  return right;
}

// A line of standard input with --slices.
struct Slice {
  size_t test = 0;  // of collective_names(), from 1; 0: the input has ended
  size_t bytes = 0;
  int iterations = 0, warm_up = 0;
  double duration_s = 0;
  bool check = false;
};

// Throws BadOption.
Slice read_slice(std::istream& input) {
  Slice slice;
  std::string line, test;
  if (!std::getline(input, line)) return slice;
  std::istringstream words(line);
  words >> test >> slice.bytes >> slice.iterations >> slice.warm_up >> slice.duration_s >> slice.check;
  const std::vector<std::string> names = collective_names();
  const auto at = std::find(names.begin(), names.end(), test);
  constexpr size_t kMaxBytes = size_t{1} << 40;  // also what a negative number is above
  const bool in_range = slice.bytes <= kMaxBytes && slice.iterations > 0 && slice.warm_up >= 0 && slice.duration_s >= 0;
  if (!words || at == names.end() || !in_range)
    throw BadOption("'" + line + "' is not: TEST BYTES RUNS WARM_UP SECONDS CHECK, with one of the tests of --test");
  slice.test = static_cast<size_t>(at - names.begin()) + 1;
  return slice;
}

// What process 0 has read, for all.
Slice shared(const Process& process, const Slice& read) {
  const auto of_first = [&process](auto value) {
    return static_cast<decltype(value)>(process.board.maximum(process.number, static_cast<double>(value)));
  };
  return {of_first(read.test),    of_first(read.bytes),      of_first(read.iterations),
          of_first(read.warm_up), of_first(read.duration_s), of_first(read.check)};
}

}  // namespace

int run_slices(const Process& process) {
  std::vector<Gpu> gpus = make_gpus(process);
  process.board.barrier();
  if (process.number == 0) report(R"({"ready": true})");
  Options options = process.options;
  const Process own{options, process.board, process.number, process.api};
  const std::vector<std::string> names = collective_names();
  std::unique_ptr<Measurement> m;  // stays while test and size do: filling its buffers can take longer than a slice
  Slice before;
  unsigned seed = 1;
  size_t wrong = 0;
  for (;;) {
    const Slice slice = shared(process, process.number == 0 ? read_slice(std::cin) : Slice());
    if (slice.test == 0) break;
    const Collective& what = collective(names[slice.test - 1]);
    if (slice.test != before.test || slice.bytes != before.bytes) {
      m.reset();  // before the next, so that both are not in memory
      m = std::make_unique<Measurement>(own, &gpus, what, slice.bytes, options.types[0], options.ops[0], false, -1, -1);
      m->prepare(seed += 7);
    }
    before = slice;
    options.iterations = slice.iterations;
    options.warm_up = slice.warm_up;
    options.duration_s = slice.duration_s;
    options.check = slice.check;
    const Figures f = measure(own, &gpus, m.get(), seed);
    wrong += f.wrong;
    const size_t moved =
        std::max(what.send_elements(m->first()), what.recv_elements(m->first())) * player::type_size(options.types[0]);
    if (process.number == 0) report(as_json(f, moved, what.bus_factor(options.ranks())).dump());
  }
  m.reset();
  free_gpus(process, &gpus);
  return wrong == 0 ? 0 : 1;
}

size_t check_once(const Process& process, std::vector<Gpu>* gpus, const std::string& test, size_t bytes, int type,
                  int op, unsigned seed, bool in_place, int sub_rank, int sub_ranks) {
  Measurement m(process, gpus, collective(test), bytes, type, op, in_place, sub_rank, sub_ranks);
  m.prepare(seed);
  m.start();
  wait_for(process, gpus);
  return m.wrong();
}

int run_bench(const Process& process) {
  const Options& o = process.options;
  std::vector<Gpu> gpus = make_gpus(process);
  bool right = true;
  unsigned seed = 1;
  for (const std::string& test : o.tests) {
    if (process.number == 0) {
      say("# %s, %d ranks", test.c_str(), o.ranks());
      say("# %64s%36s", "out-of-place", "in-place");
      say("# %10s %12s %8s %6s %5s %10s %7s %7s %7s %10s %7s %7s %7s", "size", "count", "type", "redop", "root", "time",
          "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
      say("# %10s %12s %8s %6s %5s %10s %7s %7s %7s %10s %7s %7s", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
          "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)");
    }
    const std::vector<int> ops = collective(test).reduces() ? o.ops : std::vector<int>{kSum};
    for (int type : o.types)
      for (int op : ops)
        for (size_t bytes : o.sizes) right &= run_line(process, &gpus, test, bytes, type, op, seed += 7);
  }
  free_gpus(process, &gpus);
  return right ? 0 : 1;
}

}  // namespace mrc::nccl_rig
