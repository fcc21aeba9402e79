// The states of MRC's queue pair behind one of verbs, and the receive requests that it holds, with functions of the
// test in place of MRC's.
#include "objects/mrc_queue_pair.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace mrc::shim {
namespace {

mrc_qp* const kQp = reinterpret_cast<mrc_qp*>(0x100);  // NOLINT(performance-no-int-to-ptr)

class MrcQpTest : public ::testing::Test {
 protected:
  MrcQpTest() {
    room = UINT32_MAX;
    error = modify_error = 0;
    posted.clear();
    modified.clear();
    destroyed = 0;
    api.mrc_create_qp = [](mrc_context*, mrc_qp_init_attr*) { return kQp; };
    api.mrc_get_qpn = [](mrc_qp*, uint32_t* qpn) { return *qpn = 0x1234, 0; };
    api.mrc_query_qp = [](mrc_qp*, ibv_qp_attr*, int, mrc_qp_attr* attr, int, mrc_qp_init_attr*) {
      return attr->timeout = 9, 0;
    };
    api.mrc_destroy_qp = [](mrc_qp*) { return ++destroyed, 0; };
    api.mrc_modify_qp = [](mrc_qp*, ibv_qp_attr* attr, int, mrc_qp_attr*, int) {
      modified.push_back(attr->qp_state);
      return modify_error;
    };
    api.mrc_post_recv = [](mrc_qp*, ibv_recv_wr* wr, ibv_recv_wr** bad) {
      uint32_t in_list = 0;
      for (; wr != nullptr; wr = wr->next, ++in_list) {
        if (room == 0) {
          *bad = wr;
          return errno = error;
        }
        --room;
        last_id = wr->wr_id;
      }
      posted.push_back(in_list);
      return 0;
    };
  }

  Provider api;
  static inline uint32_t room;
  static inline int error, modify_error, destroyed;
  static inline uint64_t last_id;
  static inline std::vector<uint32_t> posted;
  static inline std::vector<ibv_qp_state> modified;
};

TEST_F(MrcQpTest, is_destroyed_once_wherever_it_is_moved_to) {
  {
    MrcQp kept(api);
    {
      MrcQp made(api);
      mrc_qp_init_attr init{};
      ASSERT_TRUE(made.create(nullptr, &init));
      made.init_done();
      kept = std::move(made);
    }
    EXPECT_EQ(destroyed, 0);
    EXPECT_EQ(kept.number(), 0x1234u);
    EXPECT_EQ(kept.packet_timeout(), 9);
    EXPECT_TRUE(kept.operational());
    kept.destroy();
    EXPECT_EQ(destroyed, 1);
  }
  EXPECT_EQ(destroyed, 1);
}

TEST_F(MrcQpTest, sends_from_rts_until_it_is_in_the_error_state) {
  MrcQp qp(api);
  EXPECT_FALSE(qp.operational() || qp.sends());
  qp.init_done();
  EXPECT_TRUE(qp.operational() && !qp.sends());
  modify_error = EINVAL;
  qp.start_sending(7);
  EXPECT_FALSE(qp.sends());
  modify_error = 0;
  qp.start_sending(7);
  EXPECT_TRUE(qp.operational() && qp.sends());
  qp.enter_error_state();
  EXPECT_FALSE(qp.operational() || qp.sends());
  EXPECT_EQ(modified, (std::vector<ibv_qp_state>{IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPS_ERR}));
  qp.reset_done();
  qp.init_done();
  qp.rts_done();
  EXPECT_TRUE(qp.sends());
}

TEST_F(MrcQpTest, receives_are_posted_in_lists) {
  MrcQp qp(api);
  EXPECT_EQ(qp.post_receives(5, 1), 0u);
  EXPECT_TRUE(posted.empty());  // not before INIT
  qp.init_done();
  EXPECT_EQ(qp.post_receives(70, uint64_t{3} << 32), 0u);
  EXPECT_EQ(posted, (std::vector<uint32_t>{32, 32, 6}));
  EXPECT_EQ(last_id, uint64_t{3} << 32);
}

TEST_F(MrcQpTest, receives_that_find_no_memory_are_left_to_the_caller) {
  MrcQp qp(api);
  qp.init_done();
  room = 40;
  error = ENOMEM;
  EXPECT_EQ(qp.post_receives(70, 0), 30u);
  room = 40;
  error = EINVAL;  // the queue pair has failed: nothing receives any more
  EXPECT_EQ(qp.post_receives(70, 0), 0u);
}

}  // namespace
}  // namespace mrc::shim
