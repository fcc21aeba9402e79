// The content of a lab's folder, /run/mrc-fabric/LAB (or below MRC_LAB_DIR): the fabric it was built from, whether it
// is complete, what faults are in force, and the hosts' configuration files. /run forgets at a reboot, as namespaces
// do.
//
// A lock on the folder keeps two commands from changing one lab at once; it ends with its holder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fd.h"
#include "topology.h"

namespace mrc::fabric {

using Json = nlohmann::ordered_json;

inline constexpr const char* kStateRoot = "/run/mrc-fabric";

std::string state_root();

class LabState {
 public:
  explicit LabState(std::string lab);

  const std::string& lab() const { return lab_; }
  const std::string& folder() const { return folder_; }
  std::string prefix() const { return lab_ + "-"; }
  std::string netns(const NodeId& node) const { return prefix() + node_name(node); }
  std::string host_file(uint32_t host) const { return folder_ + "/h" + std::to_string(host) + ".yaml"; }
  std::string names_file() const { return folder_ + "/hosts"; }

  bool exists() const;
  bool complete() const;
  void set_complete(bool complete);
  std::string fabric_text() const;
  void set_fabric_text(const std::string& yaml);
  FabricSpec fabric() const;  // throws FabricError when the lab is not up
  // WHERE -> what is wrong with it, see fault.h.
  Json faults() const;
  void set_faults(const Json& faults);

  // Namespaces of this lab that exist, regardless of the state.
  std::vector<std::string> namespaces() const;
  void create_folder();
  void remove_folder();

 private:
  std::string lab_, folder_;
};

std::vector<std::string> known_labs();
// The lab of a command: `given`, else the only one. Throws FabricError.
std::string choose_lab(const std::string& given);
void check_lab_name(const std::string& name);

class LabLock {
 public:
  // Makes the folder if there is none. Waits while another command holds it.
  explicit LabLock(LabState* state);
  ~LabLock() { release(); }
  LabLock(const LabLock&) = delete;
  LabLock& operator=(const LabLock&) = delete;
  void release();
  // In the guardian, whose copy of the lock outlives its owner: takes it again. False when the lab that was locked is
  // removed, even if there is a new one of that name.
  bool relock();

 private:
  bool current() const;
  const LabState* state_;
  Fd fd_;
};

}  // namespace mrc::fabric
