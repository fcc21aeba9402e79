// Lists in texts: "a, b, c".
#pragma once

#include <string>
#include <string_view>

namespace mrc {

// Appends to a list, which is empty at first.
inline void append_item(std::string* list, std::string_view item, std::string_view separator = ", ") {
  if (!list->empty()) list->append(separator);
  list->append(item);
}

}  // namespace mrc
