#include "state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "append_item.h"
#include "command.h"
#include "secure_environment.h"

namespace mrc::fabric {
namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxName = 32;
constexpr int kMaxTries = 100;

bool skip(std::string_view* text, std::string_view word) {
  if (text->substr(0, word.size()) != word) return false;
  text->remove_prefix(word.size());
  return true;
}

bool skip_number(std::string_view* text) {
  const size_t digits = std::min(text->find_first_not_of("0123456789"), text->size());
  text->remove_prefix(digits);
  return digits > 0;
}

// The exact forms of node_name: another lab's name may begin with this one's.
bool is_node_name(std::string_view text) {
  if (text == "oob") return true;
  if (skip(&text, "h")) return skip_number(&text) && text.empty();
  return skip(&text, "p") && skip_number(&text) && (skip(&text, "-t0-") || skip(&text, "-t1-")) && skip_number(&text) &&
         text.empty();
}

}  // namespace

std::string state_root() {
  const char* set = environment::variable("MRC_LAB_DIR");
  return set != nullptr && *set != 0 ? set : kStateRoot;
}

void check_lab_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kMaxName && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  if (!fits || !std::all_of(name.begin(), name.end(),
                            [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; }))
    throw UsageError("lab '" + name + "': allowed: a letter, then up to 31 letters, digits, '_', '.' and '-'");
}

LabState::LabState(std::string lab) : lab_(std::move(lab)), folder_(state_root() + "/" + lab_) {
  check_lab_name(lab_);
}

bool LabState::exists() const {
  return fs::exists(folder_ + "/fabric.yaml");
}

bool LabState::complete() const {
  return fs::exists(folder_ + "/complete");
}

void LabState::set_complete(bool complete) {
  if (complete) {
    write_text(folder_ + "/complete", "");
  } else {
    fs::remove(folder_ + "/complete");
  }
}

std::string LabState::fabric_text() const {
  return read_text(folder_ + "/fabric.yaml");
}

void LabState::set_fabric_text(const std::string& yaml) {
  write_text(folder_ + "/fabric.yaml", yaml);
}

FabricSpec LabState::fabric() const {
  if (!exists()) throw FabricError("lab '" + lab_ + "' is not up; `mrc-fabric list` shows those that are");
  const sim::Source source{folder_ + "/fabric.yaml"};
  return sim::read_fabric(sim::load_yaml(source, fabric_text()), source);
}

Json LabState::faults() const {
  const std::string text = read_text(folder_ + "/faults.json");
  return text.empty() ? Json::object() : Json::parse(text);
}

void LabState::set_faults(const Json& faults) {
  write_text(folder_ + "/faults.json", faults.dump(1) + "\n");
}

std::vector<std::string> LabState::namespaces() const {
  std::vector<std::string> ours;
  for (const std::string& name : netns_list())
    if (name.rfind(prefix(), 0) == 0 && is_node_name(name.substr(prefix().size()))) ours.push_back(name);
  return ours;
}

void LabState::create_folder() {
  std::error_code why;
  int tries = 0;
  do {  // the removal of another lab may delete the root before there is a folder in it
    fs::create_directories(folder_, why);
  } while (why == std::errc::no_such_file_or_directory && ++tries < kMaxTries);
  if (why) throw FabricError(folder_ + ": " + why.message());
}

void LabState::remove_folder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove(state_root(), ignored);  // only when it is empty
}

std::vector<std::string> known_labs() {
  std::vector<std::string> labs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(state_root(), ignored))
    if (fs::exists(entry.path() / "fabric.yaml")) labs.push_back(entry.path().filename());
  std::sort(labs.begin(), labs.end());
  return labs;
}

std::string choose_lab(const std::string& given) {
  if (!given.empty()) return given;
  const std::vector<std::string> labs = known_labs();
  if (labs.size() == 1) return labs[0];
  if (labs.empty()) throw FabricError("no lab is up; `mrc-fabric up FABRIC` builds one");
  std::string names;
  for (const std::string& l : labs) append_item(&names, l);
  throw FabricError("several labs are up, say which with --lab or MRC_LAB: " + names);
}

LabLock::LabLock(LabState* state) : state_(state) {
  for (;;) {
    state->create_folder();
    fd_ = Fd(open(state->folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd_ && errno == ENOENT) continue;  // another command has just removed it
    if (!fd_) throw FabricError(state->folder() + ": " + std::strerror(errno));
    if (relock()) return;
    release();
  }
}

bool LabLock::current() const {
  struct stat held, named;
  return fstat(fd_.get(), &held) == 0 && stat(state_->folder().c_str(), &named) == 0 && held.st_ino == named.st_ino;
}

bool LabLock::relock() {
  while (flock(fd_.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return current();
}

void LabLock::release() {
  if (!fd_) return;
  flock(fd_.get(), LOCK_UN);  // closing alone would leave it to the guardian's copy
  fd_ = Fd();
}

}  // namespace mrc::fabric
