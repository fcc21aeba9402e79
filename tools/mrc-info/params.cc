#include "params.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "append_item.h"
#include "mrc_soft.h"

namespace mrc::info {

namespace {

// As text a person would write: 1000000, not 1000000.0.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text = value.dump();
  if (value.is_number_float() && text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0)
    text.resize(text.size() - 2);
  return text;
}

std::string allowed(const Json& row) {
  const std::string unit = plain(row["unit"]);
  const std::string behind = unit.empty() ? "" : " " + unit;
  const bool range = row.contains("range");
  std::string text;
  if (range) text = plain(row["range"][0]) + ".." + plain(row["range"][1]) + behind;
  if (row.contains("words"))
    for (const Json& word : row["words"]) append_item(&text, plain(word), " | ");
  if (row["value"].is_boolean()) text = "true | false";
  return range ? text : text + behind;
}

}  // namespace

Json describe_params() {
  const int size = mrc_soft_describe_params(nullptr, 0);
  if (size < 0) throw std::runtime_error(std::string("cannot read the settings: ") + std::strerror(errno));
  std::string text(static_cast<size_t>(size) + 1, 0);
  mrc_soft_describe_params(text.data(), text.size());
  text.resize(static_cast<size_t>(size));
  return Json::parse(text);
}

std::string setting(const std::string& name) {
  for (const Json& row : describe_params())
    if (row["name"] == name) return plain(row["value"]);
  return "";
}

Json params_of(const Json& device, Json params) {
  for (Json& row : params) {
    const std::string value = device["settings"][plain(row["name"])];
    row["value"] = row["value"].is_string() ? Json(value) : Json::parse(value);
  }
  return params;
}

void print_params(const Json& params, const Json& devices) {
  std::vector<Json> each;
  for (const Json& device : devices) each.push_back(params_of(device, params));
  for (size_t i = 0; i < params.size(); ++i) {
    const Json& row = each.front()[i];
    bool changed = false, differ = false;
    std::string values;
    for (size_t d = 0; d < each.size(); ++d) {
      const Json& value = each[d][i]["value"];
      changed = changed || value != row["default"];
      differ = differ || value != row["value"];
      values += (d == 0 ? "" : ", ") + plain(devices[d]["name"]) + ": " + plain(value);
    }
    std::printf("%-24s %s", plain(row["name"]).c_str(), differ ? values.c_str() : plain(row["value"]).c_str());
    if (changed) std::printf("   (default %s)", plain(row["default"]).c_str());
    std::printf("\n    %s.\n    ", plain(row["sentence"]).c_str());
    const std::string range = allowed(row);
    if (!range.empty()) std::printf("Allowed: %s. ", range.c_str());
    std::printf("Environment: %s\n", plain(row["environment"]).c_str());
  }
}

}  // namespace mrc::info
