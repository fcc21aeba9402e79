// Whose completion it is.
#include "objects/qp_table.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

// The table never looks into a queue pair.
BaseQp* qp(int n) {
  static char some[8];
  return reinterpret_cast<BaseQp*>(&some[n]);
}

ibv_wc completion(uint32_t id, uint32_t qpn, ibv_wc_opcode opcode) {
  ibv_wc wc{};
  wc.wr_id = uint64_t{id} << 32 | 77;
  wc.qp_num = qpn;
  wc.opcode = opcode;
  return wc;
}

TEST(QpTable, a_completion_belongs_to_the_id_in_its_wr_id) {
  QpTable table;
  for (int i = 0; i < 3; ++i) {
    const uint32_t id = table.free_id();
    EXPECT_EQ(id, static_cast<uint32_t>(i));
    table.set(id, qp(i));
  }
  EXPECT_EQ(table.owner_of(completion(1, 0, IBV_WC_SEND)), qp(1));
  EXPECT_EQ(table.owner_of(completion(3, 0, IBV_WC_SEND)), nullptr);
  EXPECT_EQ(table.remove(1), qp(1));
  EXPECT_EQ(table.owner_of(completion(1, 0, IBV_WC_SEND)), nullptr);
}

TEST(QpTable, ids_are_used_again) {
  QpTable table;
  table.set(table.free_id(), qp(0));
  table.set(table.free_id(), qp(1));
  table.remove(0);
  EXPECT_EQ(table.free_id(), 0u);
  EXPECT_EQ(table.free_id(), 0u);  // not taken yet
  EXPECT_EQ(table.ids(), 2u);
  EXPECT_EQ(table.count(), 1u);
  int visited = 0;
  table.for_each([&visited](BaseQp* found) {
    EXPECT_EQ(found, qp(1));
    ++visited;
  });
  EXPECT_EQ(visited, 1);
}

// [VRB-UD-5]
TEST(QpTable, datagrams_of_a_shared_receive_queue_belong_to_the_number) {
  QpTable table;
  table.set(table.free_id(), qp(0));
  table.set(table.free_id(), qp(1));
  table.set_number(0x99, qp(1));
  EXPECT_EQ(table.owner_of(completion(0, 0x99, IBV_WC_RECV)), qp(1));
  EXPECT_EQ(table.owner_of(completion(0, 0x98, IBV_WC_RECV)), qp(0));
  EXPECT_EQ(table.owner_of(completion(0, 0x99, IBV_WC_SEND)), qp(0));
  table.remove_number(0x99);
  EXPECT_EQ(table.owner_of(completion(0, 0x99, IBV_WC_RECV)), qp(0));
}

}  // namespace
}  // namespace mrc::shim
