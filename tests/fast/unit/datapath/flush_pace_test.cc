#include "datapath/raw/flush_pace.h"

#include <gtest/gtest.h>

namespace mrc::datapath {
namespace {

Instant us(int64_t n) {
  return Instant::from_ns(n * 1000);
}

TEST(FlushPace, next_flush__never_while_nothing_waits) {
  FlushPace pace;
  EXPECT_EQ(pace.next_flush(), Instant::never());
  pace.note_call(us(100));
  pace.note_flush(false);
  EXPECT_EQ(pace.next_flush(), Instant::never());
}

TEST(FlushPace, next_flush__pauses_grow_with_the_time_that_frames_wait) {
  FlushPace pace;
  pace.note_call(us(100));
  pace.note_flush(true);
  EXPECT_EQ(pace.next_flush(), us(100) + FlushPace::kMinPause);
  pace.note_call(us(500));
  pace.note_flush(true);
  EXPECT_EQ(pace.next_flush(), us(600));  // a quarter of the 400 us
  pace.note_call(us(1000000));
  pace.note_flush(true);
  EXPECT_EQ(pace.next_flush(), us(1000000) + FlushPace::kMaxPause);
}

TEST(FlushPace, next_flush__begins_anew_after_a_whole_flush) {
  FlushPace pace;
  pace.note_call(us(100));
  pace.note_flush(true);
  pace.note_call(us(50000));
  pace.note_flush(false);
  pace.note_call(us(60000));
  pace.note_flush(true);
  EXPECT_EQ(pace.next_flush(), us(60000) + FlushPace::kMinPause);
}

}  // namespace
}  // namespace mrc::datapath
