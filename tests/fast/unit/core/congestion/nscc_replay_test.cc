// The recordings of spec/vectors replay without a difference, and the replay notices what is wrong [MRC-NSCC-30].
#include "nscc-replay/nscc_replay.h"

#include <gtest/gtest.h>

#include <fstream>

namespace mrc::core {
namespace {

std::vector<std::string> recording(const std::string& name) {
  std::ifstream in(MRC_SOURCE_DIR "/spec/vectors/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

NsccReplay replay(const std::vector<std::string>& lines, const NsccReplay::Options& options = {}) {
  NsccReplay r(options);
  for (const std::string& line : lines) EXPECT_TRUE(r.feed(line)) << line << ": " << r.error();
  return r;
}

uint64_t branch(const NsccReplay& r, const std::string& name) {
  for (size_t bit = 0; bit < r.counts().branches.size(); ++bit) {
    if (NsccReplay::branch_name(bit) == name) return r.counts().branches[bit];
  }
  ADD_FAILURE() << "no branch " << name;
  return 0;
}

TEST(nscc_replay, incast_of_seven_with_its_branch_coverage) {
  const NsccReplay r = replay(recording("incast7v_2MB_100G.csv"));
  EXPECT_EQ(r.counts().contexts, 8u);
  EXPECT_EQ(r.counts().acks, 3353u);
  EXPECT_EQ(r.counts().nacks, 247u);
  EXPECT_EQ(r.counts().compared, 3353u * 14 + 247 * 13);
  EXPECT_EQ(r.counts().mismatches, 0u);
  EXPECT_EQ(branch(r, "proportional"), 398u);
  EXPECT_EQ(branch(r, "fair"), 139u);
  EXPECT_EQ(branch(r, "no_op"), 429u);
  EXPECT_EQ(branch(r, "decrease_asked"), 2353u);
  EXPECT_EQ(branch(r, "decrease_cut"), 330u);
  EXPECT_EQ(branch(r, "fast"), 21u);
  EXPECT_EQ(branch(r, "fulfil"), 641u);
  EXPECT_EQ(branch(r, "eta"), 556u);
  EXPECT_EQ(branch(r, "trim_cut"), 247u);
  EXPECT_EQ(branch(r, "quick_adapt"), 3u);
  EXPECT_EQ(branch(r, "ignored"), 10u);
}

TEST(nscc_replay, single_flow) {
  const NsccReplay r = replay(recording("single_2MB_100G.csv"));
  EXPECT_EQ(r.counts().acks, 124u);
  EXPECT_EQ(r.counts().mismatches, 0u);
}

// Every recorded variable of an ACK and of a NACK, changed by one, is noticed on its own line.
TEST(nscc_replay, each_variable_is_compared) {
  const std::vector<std::string> lines = recording("incast7v_2MB_100G.csv");
  for (const char kind : {'A', 'N'}) {
    size_t at = lines.size();
    for (size_t i = 100; i < lines.size() && at == lines.size(); ++i) {
      if (lines[i][0] == kind) at = i;
    }
    ASSERT_LT(at, lines.size());
    for (int column = kind == 'A' ? 5 : 8; column <= 20; ++column) {
      if (column == 6 || column == 7) continue;  // inputs: mark, inflight
      std::vector<std::string> changed(lines.begin(), lines.begin() + static_cast<long>(at) + 1);
      size_t start = 0;
      for (int c = 0; c < column; ++c) start = changed.back().find(',', start) + 1;
      size_t end = changed.back().find(',', start);
      if (end == std::string::npos) end = changed.back().size();
      const int64_t value = std::stoll(changed.back().substr(start, end - start));
      changed.back().replace(start, end - start, std::to_string(value + 1));
      const NsccReplay r = replay(changed);
      EXPECT_GE(r.counts().mismatches, 1u) << kind << " column " << column;
      ASSERT_FALSE(r.mismatches().empty());
      EXPECT_EQ(r.mismatches()[0].line, at + 1);
      EXPECT_EQ(r.mismatches()[0].expected, value + 1);
      EXPECT_EQ(r.mismatches()[0].got, value);
    }
  }
}

TEST(nscc_replay, bad_lines_are_named) {
  const std::string start = "I,1,9348480,116856,175284,175284,4150";
  const struct {
    const char* line;
    const char* says;
  } kBad[] = {
      {"X,1", "unknown record"},
      {"I,1,2", "wanted 6 fields"},
      {"I,1,0,116856,175284,175284,4150", "above 0"},
      {"I,1,9348480,116856,175284,175284,64", "mtu"},
      {"R,1,2,x,4,5", "decimal"},
      {"R,1,2,3,4,5 ", "decimal"},
      {"R,1,2, 3,4,5", "decimal"},
      {"R,1,2,99999999999999999999,4,5", "decimal"},
      {"R,2,2,3,4,5", "no I record"},
      {"R,1,-2,3,4,5", "negative"},
  };
  for (const auto& bad : kBad) {
    NsccReplay r({});
    ASSERT_TRUE(r.feed("# a comment"));
    ASSERT_TRUE(r.feed(""));
    ASSERT_TRUE(r.feed(start + "\r"));
    EXPECT_FALSE(r.feed(bad.line)) << bad.line;
    EXPECT_NE(r.error().find(bad.says), std::string::npos) << r.error();
    EXPECT_EQ(r.line_number(), 4u);
  }
}

TEST(nscc_replay, timeout_with_the_window_of_after_or_of_before) {
  const std::string start = "I,1,9348480,116856,175284,175284,4150";
  EXPECT_EQ(replay({start, "R,1,100,4150,0,171134", "R,1,200,4150,0,166984"}).counts().mismatches, 0u);
  EXPECT_EQ(replay({start, "R,1,100,4150,0,175284", "R,1,200,4150,0,171134"}).counts().mismatches, 0u);
  EXPECT_EQ(replay({start, "R,1,100,4150,0,171134", "R,1,200,4150,0,171134"}).counts().mismatches, 1u);
  EXPECT_EQ(replay({start, "R,1,100,4150,0,175284", "R,1,200,4150,0,166984"}).counts().mismatches, 1u);
  EXPECT_EQ(replay({start, "R,1,100,4150,0,171135"}).counts().mismatches, 1u);
}

TEST(nscc_replay, target_delay_from_the_first_event_or_by_hand) {
  const std::string start = "I,1,8000000,100000,150000,150000,4150";
  // Delay above T adds nothing of the fair increase here: no new bytes. qa_end = now + base_rtt + T.
  const auto ack = [](const std::string& qa_end) {
    return "A,1,1000000,0,8000000,0,0,0,150000,150000,8000000,150000,0,0,0,0,0,0," + qa_end + ",0,0";
  };
  NsccReplay::Options on, off, by_hand;
  on.trimming = NsccReplay::Trimming::kOn;
  off.trimming = NsccReplay::Trimming::kOff;
  by_hand.target = 5000000;
  EXPECT_EQ(replay({start, ack("15000000")}).counts().mismatches, 0u);
  EXPECT_EQ(replay({start, ack("17000000")}).counts().mismatches, 0u);
  EXPECT_EQ(replay({start, ack("14000000")}).counts().mismatches, 1u);
  EXPECT_EQ(replay({start, ack("17000000")}, on).counts().mismatches, 1u);
  EXPECT_EQ(replay({start, ack("17000000")}, off).counts().mismatches, 0u);
  EXPECT_EQ(replay({start, ack("14000000")}, by_hand).counts().mismatches, 0u);
}

// 800 Gb/s: one batch of the fair increase needs more than 32 bits, which the simulator does not have (D1).
TEST(nscc_replay, inc_bytes_wraps_at_32_bits_as_in_the_simulator) {
  const std::string start = "I,1,12000000,1200000,1800000,1000000,4160";
  // fi = 5 * 4096 * 8 = 163,840; 33,280 bytes add 5,452,595,200 = 2^32 + 1,157,627,904.
  const std::string ack =
      "A,1,1000000,33280,21000000,9000000,0,0,1000000,1000000,12000000,1800000,112500,1157627904,33280,0,0,0,22000000,"
      "0,"
      "33280";
  const NsccReplay r = replay({start, ack});
  EXPECT_EQ(r.counts().mismatches, 0u);
}

TEST(nscc_replay, control_packets_sample_leaves_base_rtt) {
  const std::string start = "I,1,8000000,100000,150000,150000,4150";
  const NsccReplay r =
      replay({start, "A,1,1000000,0,7000000,0,0,0,150000,150000,8000000,150000,0,0,0,0,0,0,15000000,0,0"});
  EXPECT_EQ(r.counts().mismatches, 0u);
  EXPECT_EQ(r.counts().rts_acks, 1u);
}

// Nor does it feed the average: the delay of such a record is the average itself.
TEST(nscc_replay, control_packets_sample_leaves_the_average) {
  const std::string start = "I,1,8000000,100000,150000,150000,4150";
  const std::string data =
      "A,1,1000000,0,12000000,4000000,1,0,150000,150000,8000000,150000,50000,0,0,0,0,0,15000000,0,0";
  const std::string control =
      "A,1,1100000,0,7000000,50000,1,0,150000,150000,8000000,150000,50000,0,0,0,0,0,15000000,0,0";
  const NsccReplay r = replay({start, data, control});
  for (const auto& m : r.mismatches()) ADD_FAILURE() << m.variable << ": " << m.expected << ", got " << m.got;
  EXPECT_EQ(r.counts().mismatches, 0u);
  EXPECT_EQ(r.counts().rts_acks, 1u);
}

}  // namespace
}  // namespace mrc::core
