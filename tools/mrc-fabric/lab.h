// Building and removing the lab. A lab appears either complete or absent: a process killed in between leaves it
// to the guardian, and if that is killed as well the next `up` or `down` finds an incomplete lab and removes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "guardian.h"
#include "owner.h"
#include "state.h"

namespace mrc::fabric {

inline constexpr size_t kMaxNodes = 1024;  // one machine plays them all; each namespace costs about a megabyte

struct UpResult {
  bool built = false;            // false: it was there already
  std::unique_ptr<Owner> owner;  // of a lab that is kept
  size_t nodes = 0, links = 0;
};

// The names that a fabric file or built-in name leads to, with --scale applied: text of a fabric file, written out.
std::string fabric_text(const std::string& name_or_path, double scale);
FabricSpec fabric_of(const std::string& text);

void need_root(const char* what);
// Throws FabricError; then nothing is left. With `kept` the guardian stays on duty and is handed over.
UpResult up(LabState* state, const std::string& fabric, bool replace, std::unique_ptr<Guardian>* kept = nullptr);
// Returns how many namespaces there were. No error where there are none.
size_t down(LabState* state);
// Settings, addresses, routes and rates of one node, again or for the first time.
void configure_node(const LabState& state, const Topology& topology, const NodeId& node);

}  // namespace mrc::fabric
