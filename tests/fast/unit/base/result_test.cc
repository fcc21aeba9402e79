#include "result.h"

#include <gtest/gtest.h>

#include <memory>

namespace mrc {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return invalid(std::to_string(n) + " is odd");
  return n / 2;
}

// The way in which one failure is passed on by a function of another type.
Result<std::string> half_as_text(int n) {
  Result<int> result = half(n);
  if (!result) return std::move(result).error().under("number: ");
  return std::to_string(*result);
}

Status even(int n) {
  if (Result<int> result = half(n); !result) return std::move(result).error();
  return {};
}

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

TEST(Result, holds_a_value_or_an_error) {
  const Result<int> good = half(4);
  ASSERT_TRUE(good);
  EXPECT_TRUE(good.has_value());
  EXPECT_EQ(*good, 2);
  const Result<int> bad = half(3);
  ASSERT_FALSE(bad);
  EXPECT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, EINVAL);
  EXPECT_EQ(bad.error().text, "3 is odd");
}

TEST(Result, errors_pass_on_with_their_code_and_a_place_in_front) {
  EXPECT_EQ(*half_as_text(6), "3");
  const Result<std::string> bad = half_as_text(7);
  EXPECT_EQ(bad.error().code, EINVAL);
  EXPECT_EQ(bad.error().text, "number: 7 is odd");
}

TEST(Result, moves_what_cannot_be_copied) {
  Result<std::unique_ptr<Base>> held = std::make_unique<Derived>();
  ASSERT_TRUE(held);
  const std::unique_ptr<Base> taken = *std::move(held);
  EXPECT_NE(taken, nullptr);
}

TEST(Result, reaches_into_its_value) {
  Result<std::string> text = std::string("four");
  text->push_back('!');
  *text += "!";
  EXPECT_EQ(text->size(), 6u);
}

TEST(Status, is_success_unless_given_an_error) {
  EXPECT_TRUE(Status());
  EXPECT_TRUE(even(2));
  const Status bad = even(5);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text, "5 is odd");
}

// Two errno values that absl's canonical codes do not tell apart.
TEST(Error, keeps_errno_exactly) {
  errno = EADDRINUSE;
  const Error taken = failed_call("bind");
  errno = 0;
  EXPECT_EQ(taken.code, EADDRINUSE);
  EXPECT_EQ(taken.text, "bind: Address already in use");
  EXPECT_EQ(failed_call("make", EEXIST).code, EEXIST);
  EXPECT_EQ(failed_call("make", EEXIST).text, "make: File exists");
}

TEST(ResultDeathTest, asked_for_what_it_does_not_hold_asserts) {
#ifndef NDEBUG
  EXPECT_DEATH((void)*half(3), "index");
  EXPECT_DEATH((void)half(4).error(), "index");
  EXPECT_DEATH((void)even(2).error(), "has_value");
#endif
}

}  // namespace
}  // namespace mrc
