// The codec of the connection protocol and its cookies. [CM-MSG-*] [CM-COOKIE-1]
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>

#include "cm_pair.h"

namespace mrc::shim::cm {
namespace {

Message example(Type type) {
  Message m;
  m.type = type;
  m.source = type == Type::kCookie ? 0 : 0x0102030405060708;
  m.destination = type == Type::kHello || is_request(type) ? 0 : 0x1112131415161718;
  if (type == Type::kCookie || is_request(type)) m.cookie = 0x2122232425262728;
  if (is_request(type)) {
    m.port_space = 0x106;
    m.port = 7174;
  }
  if (type == Type::kReq || type == Type::kRep) {
    m.parameters = parameters(0xABCDEF);
    m.parameters.srq = true;
    m.parameters.retry_count = 6;
    m.parameters.rnr_retry_count = 5;
    m.private_data = text("hello");
  }
  if (type == Type::kRej) {
    m.reason = 28;
    m.private_data = text("no");
  }
  if (type == Type::kSidrReq) m.private_data = text("where");
  if (type == Type::kSidrRep) {
    m.status = 2;
    m.qkey = 0x89ABCDEF;
    m.parameters.qpn = 0xABCDEF;
    m.parameters.gid[0] = 0xFE;
    m.private_data = text("here");
  }
  return m;
}

std::vector<Type> all_types() {
  std::vector<Type> types;
  for (int t = 1; t <= 13; ++t) types.push_back(static_cast<Type>(t));
  return types;
}

TEST(CmMessage, every_type_survives_its_encoding) {
  for (const Type type : all_types()) {
    const std::vector<uint8_t> bytes = encode(example(type));
    Message m;
    ASSERT_EQ(decode(bytes.data(), bytes.size(), &m), DecodeError::kOk) << static_cast<int>(type);
    EXPECT_EQ(encode(m), bytes);
    EXPECT_EQ(m.type, type);
    EXPECT_EQ(m.parameters.qpn, example(type).parameters.qpn);
    EXPECT_EQ(m.private_data.size, example(type).private_data.size);
  }
}

TEST(CmMessage, layout_of_a_req_is_fixed) {
  const std::vector<uint8_t> bytes = encode(example(Type::kReq));
  ASSERT_EQ(bytes.size(), 24u + 8 + 4 + 32 + 5);
  EXPECT_EQ(bytes[0], 'M');
  EXPECT_EQ(bytes[2], 1);
  EXPECT_EQ(bytes[3], 3);
  EXPECT_EQ(bytes[8], 1);
  EXPECT_EQ(bytes[24], 0x21);
  EXPECT_EQ(bytes[32] << 8 | bytes[33], 0x106);
  EXPECT_EQ(bytes[53], 0xAB);
  EXPECT_EQ(bytes[68], 'h');
}

TEST(CmMessage, every_other_length_is_refused) {
  for (const Type type : all_types()) {
    Message plain = example(type);
    plain.private_data.size = 0;
    std::vector<uint8_t> bytes = encode(plain);
    Message m;
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_EQ(decode(bytes.data(), n, &m), DecodeError::kLength);
    const std::map<Type, size_t> room = {{Type::kReq, kReqPrivate},
                                         {Type::kRep, kRepPrivate},
                                         {Type::kRej, kRejPrivate},
                                         {Type::kSidrReq, kSidrReqPrivate},
                                         {Type::kSidrRep, kSidrRepPrivate}};
    const size_t longest = bytes.size() + (room.count(type) != 0 ? room.at(type) : 0);
    bytes.resize(longest, 0);
    EXPECT_EQ(decode(bytes.data(), bytes.size(), &m), DecodeError::kOk);
    bytes.push_back(0);
    EXPECT_EQ(decode(bytes.data(), bytes.size(), &m), DecodeError::kLength);
  }
}

TEST(CmMessage, fields_out_of_range_are_refused) {
  Type type = Type::kReq;
  const auto refuses = [&](size_t at, uint8_t value, DecodeError error) {
    std::vector<uint8_t> bytes = encode(example(type));
    bytes[at] = value;
    Message m;
    EXPECT_EQ(decode(bytes.data(), bytes.size(), &m), error) << at;
  };
  refuses(0, 'X', DecodeError::kMagic);
  refuses(2, 2, DecodeError::kMagic);
  refuses(3, 0, DecodeError::kType);
  refuses(3, 14, DecodeError::kType);
  refuses(4, 1, DecodeError::kField);
  refuses(16, 1, DecodeError::kNumber);
  refuses(52, 1, DecodeError::kField);  // QPN of 25 bits
  refuses(56, 1, DecodeError::kField);  // PSN
  refuses(60, 0, DecodeError::kField);  // MTU
  refuses(60, 6, DecodeError::kField);
  refuses(63, 8, DecodeError::kField);  // retries
  refuses(64, 8, DecodeError::kField);
  refuses(65, 4, DecodeError::kField);  // flags
  refuses(67, 1, DecodeError::kField);  // unused
  type = Type::kSidrReq;
  refuses(16, 1, DecodeError::kNumber);
  type = Type::kSidrRep;
  refuses(24, 6, DecodeError::kField);  // status
  refuses(25, 1, DecodeError::kField);  // unused
  refuses(27, 1, DecodeError::kField);
  refuses(28, 1, DecodeError::kField);  // QPN of 25 bits
}

// A hostile server would else turn its client's datagrams into multicast. [CM-MSG-5]
TEST(CmMessage, a_peer_is_one_queue_pair_and_no_group) {
  const auto decoded = [](Type type, uint32_t qpn, std::initializer_list<uint8_t> gid, uint8_t status = 0) {
    Message m = example(type);
    m.status = status;
    m.parameters.qpn = qpn;
    m.parameters.gid = {};
    std::copy(gid.begin(), gid.end(), m.parameters.gid.begin());
    const std::vector<uint8_t> bytes = encode(m);
    return decode(bytes.data(), bytes.size(), &m);
  };
  for (const Type type : {Type::kReq, Type::kRep, Type::kSidrRep}) {
    EXPECT_EQ(decoded(type, 0xFFFFFE, {0xFE, 0x80}), DecodeError::kOk);
    EXPECT_EQ(decoded(type, 5, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 223, 1, 2, 3}), DecodeError::kOk);
    EXPECT_EQ(decoded(type, 0xFFFFFF, {0xFE, 0x80}), DecodeError::kField);
    EXPECT_EQ(decoded(type, 5, {0xFF, 0x0E}), DecodeError::kField);
    EXPECT_EQ(decoded(type, 5, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 1, 2, 3}), DecodeError::kField);
  }
  EXPECT_EQ(decoded(Type::kSidrRep, 0xFFFFFF, {0xFF, 0x0E}, kSidrReject), DecodeError::kOk);  // a refusal names none
}

// The vector of the algorithm's paper: bytes 0 to 14 under the key 0 to 15.
TEST(CmCookie, hash_is_sip_hash) {
  uint8_t bytes[15];
  for (uint8_t i = 0; i < 15; ++i) bytes[i] = i;
  EXPECT_EQ(siphash({0x0706050403020100, 0x0f0e0d0c0b0a0908}, bytes, sizeof bytes), 0xa129ca6149be45e5u);
}

TEST(CmCookie, is_valid_for_its_client_and_up_to_a_minute) {
  const Cookies cookies({5, 6});
  const uint64_t t = 90'000 * kMs;
  const uint64_t cookie = cookies.make(t, address(1, 40000), 9);
  EXPECT_TRUE(cookies.check(t, address(1, 40000), 9, cookie));
  EXPECT_TRUE(cookies.check(t + 59'999 * kMs, address(1, 40000), 9, cookie));
  EXPECT_FALSE(cookies.check(t + 60'000 * kMs, address(1, 40000), 9, cookie));
  EXPECT_FALSE(cookies.check(t, address(1, 40001), 9, cookie));
  EXPECT_FALSE(cookies.check(t, address(2, 40000), 9, cookie));
  EXPECT_FALSE(cookies.check(t, address(1, 40000), 8, cookie));
  EXPECT_FALSE(Cookies({5, 7}).check(t, address(1, 40000), 9, cookie));
}

}  // namespace
}  // namespace mrc::shim::cm
