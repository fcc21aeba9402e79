#include "workers.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "error.h"
#include "process_time.h"

namespace mrc::perf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kAtOnceSeconds = 5;       // a client opens all its connections at once
constexpr double kNamedWithinSeconds = 1;  // and says at once which they are

// Joined at the end of the scope, however it is left.
class Threads {
 public:
  ~Threads() { join(); }
  template <typename Work>
  void start(const Work& work, size_t i) {
    try {
      threads_.emplace_back(work, i);
    } catch (const std::system_error& e) {
      throw PerfError(std::string("cannot start a thread: ") + e.what(), "use less --threads, or raise ulimit -u");
    }
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace

// The server takes those that name the session, in whichever order they come; anything else is not of this client.
std::vector<std::unique_ptr<Oob>> open_channels(const Options& o, const std::string& session, Listener* listener) {
  std::vector<std::unique_ptr<Oob>> channels(o.threads - 1);
  if (listener == nullptr) {
    for (size_t i = 0; i < channels.size(); ++i) {
      channels[i] = std::make_unique<Oob>(Oob::connect_to(o.host, o.port, kAtOnceSeconds));
      channels[i]->send({{"session", session}, {"channel", i}});
    }
    return channels;
  }
  const auto missing = [&] { return std::find(channels.begin(), channels.end(), nullptr) != channels.end(); };
  const auto until = Clock::now() + std::chrono::duration<double>(kAtOnceSeconds);
  const auto left = [&] { return std::chrono::duration<double>(until - Clock::now()).count(); };
  while (missing()) {
    auto channel = std::make_unique<Oob>(listener->accept_one(left()));
    try {
      const nlohmann::json identification = channel->receive(std::min(left(), kNamedWithinSeconds));
      const auto i = identification.at("channel").get<size_t>();
      if (identification.at("session") == session && i < channels.size() && channels[i] == nullptr)
        channels[i] = std::move(channel);
    } catch (const nlohmann::json::exception&) {
    } catch (const PerfError&) {
    }
  }
  return channels;
}

Workers::Workers(const Options& options, const Plan& plan, const Device& device, std::vector<Oob*> channels)
    : options_(options), plan_(plan), device_(device), channels_(std::move(channels)), workers_(channels_.size()) {
  for (Worker& worker : workers_) {
    worker.buffer = std::make_unique<Memory>(device, plan.buffer_bytes);
    worker.connection = std::make_unique<Connection>(options_, device, plan_);
  }
  // A device of n shards begins each n queue pairs one shard earlier than the n before.
  const size_t n = workers_.size();
  for (uint32_t round = 0; round < options_.qps; ++round)
    for (size_t i = 0; i < n; ++i) workers_[(i + n - round % n) % n].connection->create_qp();
  for (size_t i = 0; i < workers_.size(); ++i) workers_[i].connection->connect(*workers_[i].buffer, *channels_[i]);
}

void Workers::start(const Pattern& pattern, const Memory& source, Monitor& monitor, bool client) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (i > 0)
      worker.silent = std::make_unique<Monitor>(device_.verbs(), worker.connection->qps()[0], plan_.size, false,
                                                Monitor::Timeline(), stderr);
    worker.transfer =
        std::make_unique<Transfer>(TransferSetup{options_, plan_, *worker.connection, pattern, source, *worker.buffer,
                                                 *channels_[i], i > 0 ? *worker.silent : monitor, client});
    worker.transfer->post_first_receives();
  }
}

TransferResult Workers::run(double seconds) {
  const double cpu = tools::cpu_seconds();
  std::vector<TransferResult> results(workers_.size());
  std::vector<std::exception_ptr> failures(workers_.size());
  const auto work = [&](size_t i) {
    try {
      results[i] = workers_[i].transfer->run(seconds);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  Threads threads;
  for (size_t i = 1; i < workers_.size(); ++i) threads.start(work, i);
  work(0);
  threads.join();
  for (const std::exception_ptr& failure : failures)
    if (failure != nullptr) std::rethrow_exception(failure);
  TransferResult all = sum_of(results);
  all.cpu_s = tools::cpu_seconds() - cpu;
  return all;
}

TransferResult Workers::so_far() const {
  std::vector<TransferResult> results;
  for (const Worker& worker : workers_)
    if (worker.transfer != nullptr) results.push_back(worker.transfer->so_far());
  TransferResult all = sum_of(results);
  if (!results.empty()) all.cpu_s = results[0].cpu_s;
  return all;
}

// Together they sent what all sent in the time of the slowest one; the time of the processor is of the process anyway.
TransferResult Workers::sum_of(const std::vector<TransferResult>& results) {
  TransferResult all;
  for (const TransferResult& one : results) {
    all.sent += one.sent;
    all.send_s = std::max(all.send_s, one.send_s);
    all.received += one.received;
    all.checked += one.checked;
    all.mismatches += one.mismatches;
    if (all.first_mismatch.empty()) all.first_mismatch = one.first_mismatch;
  }
  return all;
}

}  // namespace mrc::perf
