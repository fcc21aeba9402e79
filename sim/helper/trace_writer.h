// Engine events of every NIC of a run as traces that mrclog reads: one file per NIC, JSON text sequences in the shape
// of qlog (spec/trace.md), times in simulated milliseconds. They contain nothing specific to the machine or the date:
// the same scenario and seed give the same bytes. Not safe for threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace.h"

namespace mrc::sim {

class TraceWriter {
 public:
  // `folder` exists and is empty; `title` is written to every file. Throws std::runtime_error when a file cannot be
  // written.
  TraceWriter(std::string folder, std::string title);
  void add(uint32_t nic, const core::TraceEntry& entry);
  // Writes what is still held. Without it the ends of the files are missing.
  void finish();

  static std::string file_name(uint32_t nic);

 private:
  struct File {
    std::string held;  // not yet written
    bool begun = false;
  };
  void flush(uint32_t nic);

  const std::string folder_;
  const std::string title_;
  std::vector<File> files_;
};

}  // namespace mrc::sim
