// A trace that is on: events go into the ring, and the ring into the file, without asking for memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "device/trace_file.h"
#include "harness/counted_new.h"

namespace mrc::alloc {
namespace {

TEST(Trace, events__need_no_memory) {
  char folder[] = "/tmp/mrc-trace-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/a.sqlog";
  auto opened = device::TraceFile::open(path, {"mrc0", "{}"}, 1 << 12);
  ASSERT_TRUE(opened) << opened.error().text;
  auto file = *std::move(opened);
  core::TraceEntry entry;
  file->on_trace(entry);
  file->drain();  // the table of names is made at the first event that is written
  set_failures(0, 0);
  {
    Armed on;
    for (int round = 0; round < 3; ++round) {
      for (uint64_t i = 0; i < 5000; ++i) {  // more than the ring holds
        entry.numbers[0] = i;
        entry.event = static_cast<core::TraceEvent>(i % 20);
        file->on_trace(entry);
      }
      file->drain();
    }
  }
  EXPECT_EQ(armed_allocations(), 0u);
  EXPECT_EQ(file->lost(), 3u * (5000 - 4096));
  file.reset();
  EXPECT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(::rmdir(folder), 0);
}

}  // namespace
}  // namespace mrc::alloc
