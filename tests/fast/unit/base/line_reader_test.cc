// Lines out of a byte stream, however it is cut.
#include "base/line_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc {
namespace {

std::vector<std::string> lines_of(LineReader* reader) {
  std::vector<std::string> lines;
  while (const auto line = reader->next()) lines.emplace_back(*line);
  return lines;
}

TEST(LineReader, next__in_parts_of_every_size) {
  const std::string text = "one\n\ntwo and more\nthree\nrest";
  for (size_t part = 1; part <= text.size(); ++part) {
    LineReader reader;
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size(); at += part) {
      reader.append(std::string_view(text).substr(at, part));
      for (std::string& line : lines_of(&reader)) lines.push_back(std::move(line));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two and more", "three"})) << part;
    EXPECT_EQ(reader.unfinished(), 4u);
    EXPECT_EQ(reader.rest(), "rest");
  }
}

TEST(LineReader, append__keeps_lines_not_yet_returned) {
  LineReader reader;
  reader.append("a\nb\nc");
  EXPECT_EQ(reader.next(), "a");
  reader.append("c\nd");
  EXPECT_EQ(lines_of(&reader), (std::vector<std::string>{"b", "cc"}));
  EXPECT_EQ(reader.unfinished(), 1u);
}

// A limit on it must not refuse lines that are complete and wait.
TEST(LineReader, unfinished__counts_only_the_line_without_an_end) {
  LineReader reader;
  EXPECT_EQ(reader.unfinished(), 0u);
  reader.append("complete\nhalf");
  EXPECT_EQ(reader.unfinished(), 0u);
  EXPECT_EQ(reader.next(), "complete");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.unfinished(), 4u);
  reader.append("\n");
  EXPECT_EQ(reader.next(), "half");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.unfinished(), 0u);
}

TEST(LineReader, rest__begins_after_the_last_line_returned) {
  LineReader reader;
  reader.append("a\nb\nc");
  EXPECT_EQ(reader.next(), "a");
  EXPECT_EQ(reader.rest(), "b\nc");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.rest(), "");
}

}  // namespace
}  // namespace mrc
