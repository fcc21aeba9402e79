#include "sonic_db.h"

namespace mrc::fabric {

void SonicDb::set(const std::string& table, const std::string& key, const std::string& field, const std::string& value,
                  const std::string& why) {
  tables_[table][key][field] = value;
  reasons_[table][key][field] = why;
}

void SonicDb::row(const std::string& table, const std::string& key, const std::string& why) {
  tables_[table][key] = nlohmann::ordered_json::object();
  reasons_[table][key][""] = why;
}

std::string SonicDb::explanation() const {
  std::string text;
  for (const auto& [table, rows] : tables_.items())
    for (const auto& [key, fields] : rows.items()) {
      const auto& why = reasons_.at(table).at(key);
      if (fields.empty()) text += table + "|" + key + "  # " + why.at("").get<std::string>() + "\n";
      for (const auto& [field, value] : fields.items())
        text += table + "|" + key + " " + field + " = " + value.get<std::string>() + "  # " +
                why.at(field).get<std::string>() + "\n";
    }
  return text;
}

}  // namespace mrc::fabric
