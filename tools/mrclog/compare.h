// Two traces side by side: what each did how often, and the first decision in which they part.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "log.h"

namespace mrc::log {

struct Comparison {
  bool same = false;          // the same decisions in the same order, times and QP numbers aside
  size_t parts_at = 0;        // index of the first event that differs
  std::string first, second;  // that event in each, empty where one has ended
  nlohmann::json rows;        // [{event, trigger, first, second}]
};

Comparison compare(const Log& first, const Log& second);
std::string to_text(const Comparison& c, const Log& first, const Log& second);
nlohmann::json to_json(const Comparison& c, const Log& first, const Log& second);

}  // namespace mrc::log
