// Pipes: bursts through memory between two processes, and sides that do not keep to the rules. [MRC-LOCAL-2]
#include "datapath/local/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "harness/test_burst.h"

namespace mrc::datapath {
namespace {

class Pipe : public ::testing::Test {
 protected:
  void SetUp() override {
    writer_ = PipeWriter::make();
    ASSERT_NE(writer_, nullptr);
    reader_ = PipeReader::map(writer_->fd());
    ASSERT_NE(reader_, nullptr);
    view_ = PipeMapping(writer_->fd());  // as the other side could write into it
    ASSERT_NE(view_.get(), nullptr);
  }
  PipeWriter::Written write(uint32_t salt, uint32_t segments = 2, uint32_t size = 500) {
    TestBurst t(segments, size, size, salt);
    t.burst.flow.src_port = static_cast<uint16_t>(salt);
    return writer_->write(t.burst);
  }
  // The bytes read by one call; may be empty.
  std::vector<uint8_t> read_one() {
    core::RxBurst r;
    if (reader_->read(&r, 1) == 0) return {};
    return {r.data, r.data + r.bytes};
  }
  static std::vector<uint8_t> bytes_of(uint32_t salt, uint32_t segments = 2, uint32_t size = 500) {
    return TestBurst(segments, size, size, salt).payload;
  }
  PipeMemory& memory() { return *view_.get(); }

  std::unique_ptr<PipeWriter> writer_;
  std::unique_ptr<PipeReader> reader_;
  PipeMapping view_;
  uint32_t written_ = 0;
};

TEST_F(Pipe, bursts_arrive_in_order_however_often_the_ring_goes_round) {
  for (uint32_t i = 0; i < kPipeRing + 300; ++i) {
    const uint32_t segments = 1 + i % 15, size = i % 7 == 0 ? 4000 : 30;
    ASSERT_EQ(write(i, segments, size), PipeWriter::Written::kYes);
    core::RxBurst r;
    ASSERT_EQ(reader_->read(&r, 1), 1) << i;
    EXPECT_EQ(r.flow.src_port, static_cast<uint16_t>(i));
    EXPECT_EQ(r.segment_size, size);
    ASSERT_EQ(std::vector<uint8_t>(r.data, r.data + r.bytes), bytes_of(i, segments, size)) << i;
    reader_->give_back();
  }
  EXPECT_TRUE(reader_->empty());
  EXPECT_FALSE(writer_->broken() || reader_->broken());
}

TEST_F(Pipe, buffers_lie_side_by_side) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < kPipeBufferCount; ++i) {
    const PipePlace place = pipe_place(i);
    ASSERT_EQ(place.offset, next) << i;
    ASSERT_EQ(place.bytes, kPipeBuffers[place.size_class].bytes);
    next += place.bytes;
  }
  EXPECT_EQ(next, kPipeBufferBytes);
}

TEST_F(Pipe, each_burst_takes_the_smallest_buffer_that_it_fits) {
  const auto taken = [&](uint32_t bytes) {
    EXPECT_EQ(write(1, 1, bytes), PipeWriter::Written::kYes);
    core::RxBurst r;
    EXPECT_EQ(reader_->read(&r, 1), 1);
    EXPECT_EQ(std::vector<uint8_t>(r.data, r.data + r.bytes), bytes_of(1, 1, bytes));
    reader_->give_back();
    return pipe_place(memory().entries[written_++ % kPipeRing].buffer).bytes;
  };
  EXPECT_EQ(taken(512), 512u);
  EXPECT_EQ(taken(513), 8192u);
  EXPECT_EQ(taken(8192), 8192u);
  EXPECT_EQ(taken(8193), 65536u);
  EXPECT_EQ(taken(core::kMaxBurstBytes), 65536u);
  TestBurst above(1, core::kMaxBurstBytes + 1, core::kMaxBurstBytes + 1, 1);
  EXPECT_EQ(writer_->write(above.burst), PipeWriter::Written::kFull);
  EXPECT_FALSE(writer_->broken());
}

TEST_F(Pipe, full_when_every_buffer_waits_and_goes_on_when_one_comes_back) {
  constexpr uint32_t kLarge = kPipeBuffers.back().count, kBurst = 30000;
  for (uint32_t i = 0; i < kLarge; ++i) ASSERT_EQ(write(i, 1, kBurst), PipeWriter::Written::kYes) << i;
  EXPECT_EQ(write(999, 1, kBurst), PipeWriter::Written::kFull);
  EXPECT_EQ(write(500), PipeWriter::Written::kYes) << "a small one fits still";
  core::RxBurst r[2];
  ASSERT_EQ(reader_->read(r, 2), 2);
  EXPECT_EQ(write(999, 1, kBurst), PipeWriter::Written::kFull) << "read, but not given back";
  reader_->give_back();
  EXPECT_EQ(write(1000, 1, kBurst), PipeWriter::Written::kYes);
  EXPECT_EQ(write(1001, 1, kBurst), PipeWriter::Written::kYes);
  EXPECT_EQ(write(1002, 1, kBurst), PipeWriter::Written::kFull);
  for (uint32_t i = 2; i < kLarge; ++i) {
    ASSERT_EQ(read_one(), bytes_of(i, 1, kBurst));
    reader_->give_back();
  }
  EXPECT_EQ(read_one(), bytes_of(500));
  EXPECT_EQ(read_one(), bytes_of(1000, 1, kBurst));
  EXPECT_EQ(read_one(), bytes_of(1001, 1, kBurst));
  EXPECT_TRUE(reader_->empty());
}

TEST_F(Pipe, small_packets_may_take_every_buffer) {
  for (uint32_t i = 0; i < kPipeBufferCount; ++i) ASSERT_EQ(write(i, 1, 20), PipeWriter::Written::kYes) << i;
  EXPECT_EQ(write(1, 1, 20), PipeWriter::Written::kFull);
  for (uint32_t i = 0; i < kPipeBufferCount; ++i) {
    ASSERT_EQ(read_one(), bytes_of(i, 1, 20)) << i;
    reader_->give_back();
  }
  EXPECT_EQ(write(1, 1, 20), PipeWriter::Written::kYes);
  EXPECT_FALSE(writer_->broken() || reader_->broken());
}

TEST_F(Pipe, the_buffer_that_came_back_last_is_used_next) {
  core::RxBurst r;
  write(1);
  ASSERT_EQ(reader_->read(&r, 1), 1);
  const uint8_t* const first = r.data;
  for (uint32_t i = 0; i < 10; ++i) {
    reader_->give_back();
    write(2 + i);
    ASSERT_EQ(reader_->read(&r, 1), 1);
    EXPECT_EQ(r.data, first) << i;
  }
}

TEST_F(Pipe, a_sleeping_receiver_is_to_be_woken_once) {
  EXPECT_EQ(write(1), PipeWriter::Written::kYes);
  EXPECT_TRUE(reader_->fall_asleep()) << "there is something already";
  EXPECT_EQ(read_one(), bytes_of(1));
  EXPECT_FALSE(reader_->fall_asleep());
  EXPECT_EQ(write(2), PipeWriter::Written::kReaderAsleep);
  EXPECT_EQ(write(3), PipeWriter::Written::kYes);
}

TEST_F(Pipe, reading_at_most_what_is_asked_for) {
  for (uint32_t i = 0; i < 5; ++i) write(i);
  core::RxBurst r[8];
  EXPECT_EQ(reader_->read(r, 3), 3);
  EXPECT_EQ(reader_->read(r, 8), 2);
  EXPECT_EQ(reader_->read(r, 8), 0);
  reader_->give_back();
  core::RxBurst many[2 * PipeReader::kMaxLent];
  for (uint32_t i = 0; i < 2 * PipeReader::kMaxLent; ++i) write(i);
  EXPECT_EQ(reader_->read(many, 2 * PipeReader::kMaxLent), static_cast<int>(PipeReader::kMaxLent));
  EXPECT_EQ(reader_->read(many, 1), 0) << "until they are given back";
}

// A sender that does not keep to the rules.

TEST_F(Pipe, a_sender_that_counts_more_bursts_than_there_are_buffers) {
  memory().written.store(kPipeBufferCount + 1);
  core::RxBurst r;
  EXPECT_EQ(reader_->read(&r, 1), 0);
  EXPECT_TRUE(reader_->broken());
  EXPECT_TRUE(reader_->empty());
  memory().written.store(1);
  EXPECT_EQ(reader_->read(&r, 1), 0) << "for good";
}

TEST_F(Pipe, entries_that_cannot_be) {
  struct {
    const char* what;
    uint32_t bytes, segment_size, buffer;
  } bad[] = {{"no bytes", 0, 100, 0},
             {"more than a buffer", 513, 100, 0},
             {"more than the largest", core::kMaxBurstBytes + 1, 5000, kPipeBufferCount - 1},
             {"more segments than a burst has", core::kMaxSegments + 1, 1, 0},
             {"no segment size", 100, 0, 0},
             {"a buffer that is none", 100, 100, kPipeBufferCount},
             {"far outside", 100, 100, 0xFFFFFFFF}};
  for (const auto& b : bad) {
    SetUp();
    write(1);
    memory().entries[0].bytes = b.bytes;
    memory().entries[0].segment_size = b.segment_size;
    memory().entries[0].buffer = b.buffer;
    core::RxBurst r;
    EXPECT_EQ(reader_->read(&r, 1), 0) << b.what;
    EXPECT_TRUE(reader_->broken()) << b.what;
  }
  SetUp();
  write(1);
  memory().entries[0].bytes = core::kMaxSegments;
  memory().entries[0].segment_size = 1;
  core::RxBurst max;
  EXPECT_EQ(reader_->read(&max, 1), 1);
  SetUp();
  write(1);
  memory().entries[0].segment_size = 5000;  // longer than the burst: one segment
  core::RxBurst r;
  ASSERT_EQ(reader_->read(&r, 1), 1);
  EXPECT_EQ(r.segment_size, r.bytes);
}

TEST_F(Pipe, a_sender_that_lends_one_buffer_many_times) {
  for (PipeEntry& entry : memory().entries) entry = {{}, 100, 100, 7};
  memory().written.store(kPipeBufferCount);
  core::RxBurst r[PipeReader::kMaxLent];
  for (uint32_t read = 0; read < kPipeBufferCount;) {
    const int n = reader_->read(r, PipeReader::kMaxLent);
    ASSERT_GT(n, 0);
    read += static_cast<uint32_t>(n);
    reader_->give_back();
  }
  EXPECT_FALSE(reader_->broken());
}

// A receiver that does not keep to the rules.

TEST_F(Pipe, a_receiver_that_gives_back_more_than_it_has) {
  write(1);
  memory().returned.store(2);
  EXPECT_EQ(write(2), PipeWriter::Written::kFull);
  EXPECT_TRUE(writer_->broken());
  memory().returned.store(0);
  EXPECT_EQ(write(3), PipeWriter::Written::kFull) << "for good";
}

TEST_F(Pipe, a_receiver_that_gives_back_other_buffers_than_it_has) {
  for (uint32_t i = 0; i < 4; ++i) write(i);
  for (uint32_t i = 0; i < 4; ++i) memory().returns[i] = 65535;
  memory().returned.store(4);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(write(i), PipeWriter::Written::kYes);  // spoils its own reception alone
  EXPECT_FALSE(writer_->broken());
}

TEST(PipeMap, takes_nothing_but_a_sealed_memory_of_the_right_size) {
  const auto refused = [](int fd) { return PipeReader::map(fd) == nullptr; };
  const auto memory = [](off_t size, bool sealed) {
    Fd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(fd.get(), size), 0);
    EXPECT_EQ(sealed ? ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) : 0, 0);
    return fd;
  };
  const auto size = static_cast<off_t>(sizeof(PipeMemory));
  EXPECT_FALSE(refused(memory(size, true).get()));
  EXPECT_TRUE(refused(memory(size, false).get())) << "it could shrink under the reader";
  EXPECT_TRUE(refused(memory(size - 1, true).get()));
  EXPECT_TRUE(refused(memory(size + 4096, true).get()));
  EXPECT_TRUE(refused(-1));
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(::ftruncate(::fileno(file), size), 0);
  EXPECT_TRUE(refused(::fileno(file)));
  std::fclose(file);
}

}  // namespace
}  // namespace mrc::datapath
