// A config_db.json in the making: every value is set together with the reason for it, because JSON has no comments and
// SONiC refuses fields that it does not know. The values become the file, the reasons a text of one line per value that
// is stored beside it [MRC-SONIC-7].
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mrc::fabric {

class SonicDb {
 public:
  // TABLE|key field = value. `why`: one line.
  void set(const std::string& table, const std::string& key, const std::string& field, const std::string& value,
           const std::string& why);
  void set(const std::string& table, const std::string& key, const std::string& field, int64_t value,
           const std::string& why) {
    set(table, key, field, std::to_string(value), why);  // SONiC's database holds text only
  }
  // A row without fields.
  void row(const std::string& table, const std::string& key, const std::string& why);

  std::string json() const { return tables_.dump(2) + "\n"; }
  // `TABLE|key field = value  # why`, in the order of the file.
  std::string explanation() const;

 private:
  nlohmann::ordered_json tables_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json reasons_ = nlohmann::ordered_json::object();  // the same shape; a row's own has the key ""
};

}  // namespace mrc::fabric
