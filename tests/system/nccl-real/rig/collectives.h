// The tests of nccl-tests: what they call, how large their buffers are, what they must give.
#pragma once

#include <string>
#include <vector>

#include "cuda/nccl_api.h"

namespace mrc::nccl_rig {

// A run of a collective on one rank.
struct Run {
  const NcclApi* api;
  NcclComm comm;
  void* stream;
  int rank, ranks;
  int type, op, root;
  size_t count;  // elements of one rank's part: of the whole where nothing is divided
  unsigned seed;
  char *send, *recv;
};

class Collective {
 public:
  virtual ~Collective() = default;
  virtual bool reduces() const { return false; }
  virtual bool rooted() const { return false; }
  virtual bool in_place_possible() const { return true; }
  // The part of one rank, of `elements` in all.
  virtual size_t count(size_t elements, int ranks) const { return elements / ranks; }
  virtual size_t send_elements(const Run& r) const = 0;
  virtual size_t recv_elements(const Run& r) const = 0;
  // Where the input lies in the buffer that is used for both; in elements. Negative: the output is there, the input at
  // 0.
  virtual long in_place_offset(const Run&) const { return 0; }
  virtual int start(const Run& r) const = 0;
  virtual double bus_factor(int ranks) const { return static_cast<double>(ranks - 1) / ranks; }
  // Element i of the input of a rank, and of the output that it must get. Not compared where checked() is false.
  virtual double input(const Run& r, size_t i) const;
  virtual double output(const Run& r, size_t i) const = 0;
  virtual bool checked(const Run&) const { return true; }
};

std::vector<std::string> collective_names();
const Collective& collective(const std::string& name);

}  // namespace mrc::nccl_rig
