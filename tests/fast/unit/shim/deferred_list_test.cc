// Work left for the next round of progress.
#include "progress/deferred_list.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

struct Object {
  int number = 0;
  bool deferred = false;
};

TEST(DeferredList, serves_each_object_once_and_in_order) {
  DeferredList<Object> list;
  Object a{1}, b{2};
  std::vector<int> served;
  const auto serve = [&served](const Object* o) { served.push_back(o->number); };
  EXPECT_FALSE(list.serve(serve));
  EXPECT_TRUE(list.add(&b));
  EXPECT_TRUE(list.add(&a));
  EXPECT_FALSE(list.add(&b));
  EXPECT_FALSE(list.empty());
  EXPECT_TRUE(list.serve(serve));
  EXPECT_EQ(served, (std::vector<int>{2, 1}));
  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(list.add(&b));
}

TEST(DeferredList, an_object_added_while_the_list_is_served_waits_for_the_next_round) {
  DeferredList<Object> list;
  Object a{1};
  int served = 0;
  const auto serve = [&](Object* o) {
    ++served;
    EXPECT_TRUE(list.add(o));
  };
  list.add(&a);
  EXPECT_TRUE(list.serve(serve));
  EXPECT_EQ(served, 1);
  EXPECT_FALSE(list.empty());
  list.remove(&a);
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace mrc::shim
