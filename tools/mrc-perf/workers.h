// The threads of a test: each has queue pairs, a completion queue, a receive buffer and a TCP connection of its own,
// and shares none of them. Where a device has as many shards as there are threads, each thread's queue pairs are of a
// shard that no other thread uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "monitor.h"
#include "oob.h"
#include "transfer.h"

namespace mrc::perf {

// Of the server when `listener` is not null, else of the client: the connections of the threads but the first one.
std::vector<std::unique_ptr<Oob>> open_channels(const Options& o, const std::string& session, Listener* listener);

class Workers {
 public:
  // `options` and `plan`: of one thread. `channels`: one for each thread.
  Workers(const Options& options, const Plan& plan, const Device& device, std::vector<Oob*> channels);

  // Of the first thread, whose queue pairs represent all.
  const Connection& connection() const { return *workers_[0].connection; }
  const Memory& buffer() const { return *workers_[0].buffer; }

  // Before run(); posts what must be posted before the peer starts. `monitor`: of the first thread.
  void start(const Pattern& pattern, const Memory& source, Monitor& monitor, bool client);
  TransferResult run(double seconds);
  TransferResult so_far() const;  // what a run that has failed had done

 private:
  struct Worker {
    std::unique_ptr<Memory> buffer;
    std::unique_ptr<Connection> connection;
    std::unique_ptr<Monitor> silent;
    std::unique_ptr<Transfer> transfer;
  };

  static TransferResult sum_of(const std::vector<TransferResult>& results);

  const Options options_;
  const Plan plan_;
  const Device& device_;
  const std::vector<Oob*> channels_;
  std::vector<Worker> workers_;
};

}  // namespace mrc::perf
