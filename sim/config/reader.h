// Strict reading of YAML: a map may only contain keys that were read, and every value is checked where it is
// read. A refusal names file, line, key, value and the allowed ones.
//
//     MapReader m(node, "switch", ctx);
//     m.bytes("trim_size", &spec.trim_size, 64, 1500);
//     m.choice("forwarding", {"srv6", "ecmp"}, &index);
//     m.finish();                                     // refuses keys that were not read
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/config/units.h"
#include "text_file.h"

namespace mrc::sim {

struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where the parts of a tree were read. A fabric that is based on another one, or a scenario of which keys are swept or
// set on the command line, is put together from several places.
class Source {
 public:
  explicit Source(std::string file) : file_(std::move(file)) {}  // as the user named it; all but the parts added
  Source(const Source&) = default;
  Source& operator=(const Source&) = delete;  // assigning a YAML::Node changes the tree that it refers to

  // Later additions count before earlier ones. Trees that were added must not change.
  void add_file(const YAML::Node& root, const std::string& file) { parts_.push_back({root, file, true, true}); }
  void add_place(const YAML::Node& root, const std::string& place) { parts_.push_back({root, place, false, true}); }
  void add_node(const YAML::Node& node, const std::string& place) { parts_.push_back({node, place, false, false}); }
  std::string place(const YAML::Node& node) const;  // "file:line", for messages

 private:
  struct Part {
    YAML::Node root;
    std::string place;
    bool has_lines;  // or only the place, such as "--set seed=3"
    bool whole;      // the tree below, too
  };
  std::string file_;
  std::vector<Part> parts_;
};

[[noreturn]] void refuse(const Source& source, const YAML::Node& node, const std::string& text);
// "key 'x': value is 'y', allowed: z"
[[noreturn]] void refuse_value(const Source& source, const YAML::Node& node, const std::string& key,
                               const std::string& allowed);

// Parses text; a syntax error becomes a ConfigError with file and line.
YAML::Node load_yaml(const Source& source, const std::string& text);
// Throws ConfigError; so it does for a file of more than `max` bytes.
std::string read_file(const std::string& path, size_t max = kMaxTextFile);
inline constexpr size_t kMaxDataFile = size_t{1} << 30;  // results, and lists of messages

class MapReader {
 public:
  // A node that is not there reads as an empty map.
  MapReader(const YAML::Node& node, std::string what, const Source& source);

  bool has(const std::string& key);
  YAML::Node get(const std::string& key);  // undefined when absent; counts as read

  // Each leaves *out alone when the key is absent, and returns whether it was there.
  bool text(const std::string& key, std::string* out);
  bool flag(const std::string& key, bool* out);
  bool integer(const std::string& key, int64_t* out, int64_t low, int64_t high);
  bool number(const std::string& key, double* out, double low, double high);
  bool time(const std::string& key, Ps* out, Ps low = 0, Ps high = INT64_MAX);
  bool rate(const std::string& key, double* out, double low = 1e6, double high = 1e14);
  bool bytes(const std::string& key, int64_t* out, int64_t low, int64_t high);
  bool size(const std::string& key, Size* out);
  bool choice(const std::string& key, const std::vector<std::string>& allowed, std::string* out);
  bool each(const std::string& key, const std::function<void(const YAML::Node&)>& item);  // a list

  template <class T>
  bool integer(const std::string& key, T* out, int64_t low, int64_t high) {
    int64_t value = static_cast<int64_t>(*out);
    if (!integer(key, &value, low, high)) return false;
    *out = static_cast<T>(value);
    return true;
  }

  [[noreturn]] void bad(const std::string& key, const std::string& allowed);
  [[noreturn]] void missing(const std::string& key);
  // Refuses keys that were not read, and lists the allowed ones.
  void finish();
  const Source& source() const { return source_; }
  const YAML::Node& node() const { return node_; }

 private:
  std::string scalar(const std::string& key, const YAML::Node& node, const std::string& allowed);

  YAML::Node node_;
  std::string what_;
  const Source& source_;
  std::vector<std::string> known_;
};

}  // namespace mrc::sim
