// Nodes, ports and links of a fabric as the lab and the renderers name them. Everything is computed from the plan
// (sim/fabric/plan.h); indices count from 0 as in the fabric file.
//
//     h3          host (one NIC) 3; its ports are p0, p1 .. (one per plane) and oob
//     p1-t0-2     T0 number 2 of plane 1; its ports are h8, h9 .. and t1-0, t1-1 ..
//     p1-t1-0     T1 number 0 of plane 1; its ports are t0-0, t0-1 ..
//     oob         router of the management network, which no fault touches; its ports are h0, h1 ..
//
// A port is NODE:PORT, a link is either of its two ports: p1-t0-2:t1-0 and p1-t1-0:t0-2 are the same link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fabric/plan.h"

namespace mrc::fabric {

using sim::FabricPlan;
using sim::FabricSpec;

// A user's error, or a refusal of the machine; main prints it.
struct FabricError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The part of it that is in the words of the command line or in a fabric file: exit status 2.
struct UsageError : FabricError {
  using FabricError::FabricError;
};

enum class Role : uint8_t { kHost, kT0, kT1, kManagement };

struct NodeId {
  Role role = Role::kHost;
  uint32_t plane = 0;  // of switches
  uint32_t index = 0;
  friend bool operator==(const NodeId&, const NodeId&) = default;
};

inline bool is_switch(const NodeId& node) {
  return node.role == Role::kT0 || node.role == Role::kT1;
}

struct Port {
  NodeId node;
  std::string name;  // of the interface
  std::string mac;
};

struct Link {
  Port lower, upper;  // lower: nearer to the hosts
  double rate = 0;    // bits per second in each direction, of the fabric file; 0: not limited
  bool is_spine() const { return upper.node.role == Role::kT1; }
  bool is_management() const { return upper.node.role == Role::kManagement; }
};

std::string node_name(const NodeId& node);
std::string port_name(const Port& port);  // NODE:PORT

class Topology {
 public:
  explicit Topology(const FabricSpec& spec);

  const FabricPlan& plan() const { return plan_; }
  const FabricSpec& spec() const { return plan_.spec(); }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  const std::vector<Link>& links() const { return links_; }
  std::vector<const Link*> links_of(const NodeId& node) const;

  // These throw UsageError with the existing names.
  NodeId node(const std::string& name) const;
  uint32_t host(const std::string& name) const;  // also a bare number
  const Link& link(const std::string& port) const;
  // The end of `link` that is at `node`.
  static const Port& end_at(const Link& link, const NodeId& node) {
    return link.lower.node == node ? link.lower : link.upper;
  }
  static const Port& other_end(const Link& link, const NodeId& node) {
    return link.lower.node == node ? link.upper : link.lower;
  }

 private:
  FabricPlan plan_;
  std::vector<NodeId> nodes_;
  std::vector<Link> links_;
};

}  // namespace mrc::fabric
