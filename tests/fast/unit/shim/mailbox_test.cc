// The message protocol without a network: two sides whose writes are carried by the test, one at a time, so that every
// order of events can be had. [VRB-MBX-*, VRB-REQ-*, VRB-RSP-*]
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "mailbox/requester.h"
#include "mailbox/responder.h"
#include "mrc_soft.h"

namespace mrc::shim {
namespace {

constexpr uint32_t kSlots = 512;
constexpr uint32_t kKey = 0x300;

struct Landing final : LandingOwner {
  uint32_t make_landing() override { return 0x500; }
};

// One side: what a queue pair is to the protocol.
struct Side final : Link {
  explicit Side(uint32_t qpn)
      : mailbox(kMailboxBytes),
        staging(StagingMemory::kBytes),
        buffer(1 << 20),
        keys(&guard),
        outbox(this, kSlots, 5, StagingMemory(staging.data(), 0x100)),
        requester(this, &outbox, &keys, shape(qpn)),
        responder(this, &outbox, &keys, {16, qpn, nullptr}) {
    KeyTable::Region region;
    region.base = buffer.data();
    region.iova = address();
    region.length = buffer.size();
    region.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    region.owner = &landing;
    keys.add(kKey, region);
    responder.set_attributes({IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC, 1, qpn ^ 1});
    requester.set_limits(4, 7, 0);
  }
  static Requester::Shape shape(uint32_t qpn) {
    Requester::Shape s;
    s.max_wr = 128;
    s.max_sge = 4;
    s.max_inline = 16;
    s.qpn = qpn;
    return s;
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(buffer.data()); }
  // As if the memory of `gone_at` had gone.
  static inline uint64_t gone_at = 0;
  static int guard(void (*access)(void*), void* argument, const iovec* memory, int, void** fault) {
    const auto start = reinterpret_cast<uint64_t>(memory->iov_base);
    if (gone_at - start < memory->iov_len) {
      *fault = reinterpret_cast<void*>(gone_at);  // NOLINT(performance-no-int-to-ptr)
      return EFAULT;
    }
    access(argument);
    return 0;
  }

  struct Write {
    ibv_send_wr wr;
    std::vector<uint8_t> bytes;
  };
  int post(ibv_send_wr* list, ibv_send_wr** bad) override {
    for (; list != nullptr; list = list->next) {
      if (memory_for == 0 || refuses) {
        *bad = list;
        return refuses ? EINVAL : ENOMEM;
      }
      --memory_for;
      Write w{*list, {}};
      for (int i = 0; i < list->num_sge; ++i) {
        const auto* from = reinterpret_cast<const uint8_t*>(list->sg_list[i].addr);
        w.bytes.insert(w.bytes.end(), from, from + list->sg_list[i].length);
      }
      wire.push_back(std::move(w));
    }
    return 0;
  }
  void complete_send(const ibv_wc& wc, uint32_t slots) override {
    sent.push_back(wc);
    requester.release(slots);
  }
  void complete_receive(const ibv_wc& wc, bool) override { received.push_back(wc); }
  bool take_receive(Receive* out) override {
    if (receives.empty()) return false;
    *out = receives.front();
    receives.pop_front();
    return true;
  }
  std::optional<uint32_t> take_confirmation() override { return responder.take_confirmation(); }
  bool completion_due() override { return requester.completion_due(); }
  void fail(std::optional<ibv_event_type> why) override {
    failed = true;
    event = why;
    requester.flush();
    responder.flush();
  }
  void report_gone(const Access& access) override { gone.push_back(access); }
  void count_timer(int by) override { timers += by; }

  void receive(uint64_t id, uint32_t length, uint64_t offset = 0, uint32_t key = kKey) {
    Receive r;
    r.wr_id = id;
    r.num_sge = 1;
    r.sges[0] = {address() + offset, length, key};
    receives.push_back(r);
  }
  int request(uint64_t id, ibv_wr_opcode opcode, uint32_t length, uint64_t remote = 0, uint64_t operand = 0,
              unsigned flags = 0) {
    ibv_sge sge = {address(), length, kKey};
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_SIGNALED | flags;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
      wr.wr.atomic = {remote, operand, 0, kKey};
    else
      wr.wr.rdma = {remote, kKey};
    const int error = requester.post(wr);
    requester.advance();
    return error;
  }

  std::vector<uint8_t> mailbox, staging, buffer;
  Landing landing;
  KeyTable keys;
  Outbox outbox;
  Requester requester;
  Responder responder;
  std::deque<Write> wire;
  std::deque<Receive> receives;
  std::vector<ibv_wc> sent, received;
  std::vector<Access> gone;
  bool failed = false;
  std::optional<ibv_event_type> event;
  int timers = 0;
  uint32_t memory_for = UINT32_MAX;  // writes that can still be posted
  bool refuses = false;              // writes, for good
};

class MailboxTest : public ::testing::Test {
 protected:
  Side a{2}, b{3};

  // The first of them has the status.
  void the_test_of_two_requests_fails() {
    a.requester.keep_alive();
    a.requester.keep_alive();
    ASSERT_EQ(a.wire.size(), 1u);
    a.requester.on_completion(static_cast<uint32_t>(a.wire[0].wr.wr_id), IBV_WC_RETRY_EXC_ERR);
    ASSERT_EQ(a.sent.size(), 2u);
    EXPECT_EQ(a.sent[0].status, IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(a.sent[1].status, IBV_WC_WR_FLUSH_ERR);
  }
  static std::vector<ibv_wc_status> statuses(const std::vector<ibv_wc>& completions) {
    std::vector<ibv_wc_status> found;
    for (const ibv_wc& wc : completions) found.push_back(wc.status);
    return found;
  }
  void expect_statuses(const std::vector<ibv_wc_status>& expected) { EXPECT_EQ(statuses(a.sent), expected); }
  // Of three SENDs and three receive requests, numbered from 5, the first SEND is announced. The second, of that
  // length, fails when the data of the first has come, and nothing behind it is carried out.
  void the_second_send_fails_in_its_turn(uint32_t length, ibv_wc_status receiver, ibv_wc_status sender) {
    ASSERT_EQ(a.request(1, IBV_WR_SEND, 100000), 0);
    ASSERT_EQ(a.request(2, IBV_WR_SEND, length), 0);
    ASSERT_EQ(a.request(3, IBV_WR_SEND, 8), 0);
    while (!a.wire.empty()) carry(&a, &b);
    EXPECT_FALSE(b.failed);
    EXPECT_TRUE(b.received.empty() && b.gone.empty());
    settle();
    ASSERT_EQ(b.received.size(), 2u);
    EXPECT_EQ(b.received[0].status, IBV_WC_SUCCESS);
    EXPECT_EQ(b.received[1].wr_id, 6u);
    EXPECT_EQ(b.received[1].status, receiver);
    EXPECT_EQ(b.receives.size(), 1u);
    expect_statuses({IBV_WC_SUCCESS, sender, IBV_WC_WR_FLUSH_ERR});
  }
  // Carries the oldest write of `from`; with `complete`, its sender is notified of the arrival.
  void carry(Side* from, Side* to, bool complete = true) {
    Side::Write w = std::move(from->wire.front());
    from->wire.pop_front();
    const uint32_t key = w.wr.wr.rdma.rkey;
    if (!w.bytes.empty()) {
      uint8_t* at = key == MRC_SOFT_MAILBOX_RKEY ? to->mailbox.data() + w.wr.wr.rdma.remote_addr
                                                 : reinterpret_cast<uint8_t*>(w.wr.wr.rdma.remote_addr);
      std::memcpy(at, w.bytes.data(), w.bytes.size());
    }
    if (complete && (w.wr.send_flags & IBV_SEND_SIGNALED) != 0)
      from->requester.on_completion(static_cast<uint32_t>(w.wr.wr_id), IBV_WC_SUCCESS);
    if (w.wr.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) return;
    if (key != MRC_SOFT_MAILBOX_RKEY) {
      ibv_wc wc{};
      wc.imm_data = w.wr.imm_data;
      to->responder.on_write_imm(wc);
      return;
    }
    const Immediate note = unpack(w.wr.imm_data);
    if (note.note >= Note::kAck) return to->requester.on_note(note, to->mailbox.data(), 0);
    if (note.note != Note::kFinish) {
      const Request r = decode_request(to->mailbox.data() + request_offset(note.number));
      if ((r.flags & kConfirms) != 0) to->requester.on_confirmation(r.confirmed);
    }
    to->responder.on_note(note, to->mailbox.data());
  }
  void settle() {
    while (!a.wire.empty() || !b.wire.empty() || a.responder.ack_due() || b.responder.ack_due()) {
      while (!a.wire.empty()) carry(&a, &b);
      while (!b.wire.empty()) carry(&b, &a);
      a.responder.flush_ack();
      b.responder.flush_ack();
      a.requester.advance();
      b.requester.advance();
      a.responder.run();
      b.responder.run();
    }
  }
};

TEST_F(MailboxTest, wire_format_keeps_every_member) {
  Request r;
  r.note = Note::kAtomic;
  r.flags = kCompareSwap | kConfirms;
  r.segments = 16;
  r.number = 0xFEDCB;
  r.length = 0x12345678;
  r.immediate = 0x9ABCDEF0;
  r.remote_addr = 0x1122334455667788;
  r.rkey = 0x99AABBCC;
  r.reply_psn = 0xABCDEF;
  r.operand = 0x0102030405060708;
  r.swap = 0x1112131415161718;
  r.confirmed = 0x54321;
  uint8_t bytes[kHeaderBytes], again[kHeaderBytes];
  encode(r, bytes);
  encode(decode_request(bytes), again);
  EXPECT_EQ(std::memcmp(bytes, again, sizeof bytes), 0);
  EXPECT_EQ(bytes[0], 4);
  EXPECT_EQ(bytes[8], 0x78);  // little-endian
  const Immediate i = unpack(pack({Note::kRefused, 0xA5, 0xFFFFF}));
  EXPECT_EQ(i.note, Note::kRefused);
  EXPECT_EQ(i.argument, 0xA5);
  EXPECT_EQ(i.number, 0xFFFFFu);
}

// [VRB-REQ-2]
TEST_F(MailboxTest, sends_of_every_kind_arrive_in_order) {
  const uint32_t sizes[] = {0, 1, kEagerBytes, kEagerBytes + 1, 200000, 3};
  for (uint64_t i = 0; i < 6; ++i) b.receive(10 + i, 300000);
  for (uint64_t i = 0; i < 6; ++i) ASSERT_EQ(a.request(i, IBV_WR_SEND, sizes[i]), 0);
  settle();
  ASSERT_EQ(b.received.size(), 6u);
  ASSERT_EQ(a.sent.size(), 6u);
  for (uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(b.received[i].wr_id, 10 + i);
    EXPECT_EQ(b.received[i].byte_len, sizes[i]);
    EXPECT_EQ(a.sent[i].wr_id, i);
    EXPECT_EQ(a.sent[i].status, IBV_WC_SUCCESS);
  }
}

// An empty piece has no address: UCX posts such messages, and a copy from null is undefined even of nothing.
TEST_F(MailboxTest, inline_pieces_may_be_empty) {
  uint8_t data[3] = {7, 8, 9};
  ibv_sge pieces[2] = {{0, 0, 0}, {reinterpret_cast<uint64_t>(data), sizeof data, 0}};
  for (int count = 1; count <= 2; ++count) {
    b.receive(static_cast<uint64_t>(count), 100);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.sg_list = pieces;
    wr.num_sge = count;
    wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    ASSERT_EQ(a.requester.post(wr), 0);
    a.requester.advance();
  }
  settle();
  ASSERT_EQ(b.received.size(), 2u);
  EXPECT_EQ(b.received[0].byte_len, 0u);
  EXPECT_EQ(b.received[1].byte_len, sizeof data);
  EXPECT_EQ(std::memcmp(b.buffer.data(), data, sizeof data), 0);
}

// Each turn of each side finds memory for one write.
TEST_F(MailboxTest, writes_for_which_memory_runs_out_are_posted_later_in_order) {
  const ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_SEND, IBV_WR_RDMA_WRITE,          IBV_WR_RDMA_READ,
                                   IBV_WR_SEND, IBV_WR_SEND, IBV_WR_ATOMIC_FETCH_AND_ADD};
  const uint32_t sizes[] = {1, kEagerBytes + 1, 100, 100, 200000, 3, 8};
  a.memory_for = b.memory_for = 0;
  for (uint64_t i = 0; i < 7; ++i) b.receive(10 + i, 300000);
  for (uint64_t i = 0; i < 7; ++i) ASSERT_EQ(a.request(i, opcodes[i], sizes[i], b.address(), 1), 0);
  EXPECT_TRUE(a.outbox.waits_for_memory());
  EXPECT_EQ(a.timers, 1);
  EXPECT_EQ(a.outbox.room(), 0u);
  for (int turn = 0; turn < 200 && a.sent.size() < 7; ++turn)
    for (Side* side : {&a, &b}) {
      side->memory_for = 1;
      ASSERT_TRUE(side->outbox.retry());
      side->requester.advance();
      side->responder.run();
      side->responder.flush_ack();
      while (!side->wire.empty()) carry(side, side == &a ? &b : &a);
    }
  ASSERT_EQ(a.sent.size(), 7u);
  for (uint64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(a.sent[i].wr_id, i);
    EXPECT_EQ(a.sent[i].status, IBV_WC_SUCCESS);
  }
  ASSERT_EQ(b.received.size(), 4u);
  EXPECT_FALSE(a.failed || b.failed);
  a.memory_for = b.memory_for = UINT32_MAX;
  EXPECT_TRUE(a.outbox.retry() && b.outbox.retry());
  EXPECT_EQ(a.timers + b.timers, 0);
}

// [VRB-MBX-1]
TEST_F(MailboxTest, never_more_than_the_window_is_unconfirmed) {
  for (uint64_t i = 0; i < 2 * kWindow; ++i) ASSERT_EQ(a.request(i, IBV_WR_SEND, 8), 0);
  EXPECT_EQ(a.wire.size(), kWindow);
  EXPECT_EQ(a.request(999, IBV_WR_SEND, 8), ENOMEM);  // 128 are posted, none is polled
  for (uint64_t i = 0; i < 2 * kWindow; ++i) b.receive(i, 8);
  settle();
  EXPECT_EQ(a.sent.size(), 2 * kWindow);
}

TEST_F(MailboxTest, numbers_wrap) {
  for (uint64_t i = 0; i < (1u << kNumberBits) + 100; ++i) {
    b.receive(i, 8);
    ASSERT_EQ(a.request(i, IBV_WR_SEND, 4), 0);
    if (i % 32 == 31) settle();
    a.sent.clear();
    b.received.clear();
    ASSERT_FALSE(a.failed || b.failed) << i;
  }
}

// [VRB-RSP-2]
TEST_F(MailboxTest, without_receive_request_everything_waits_and_goes_on) {
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  ASSERT_EQ(a.request(2, IBV_WR_RDMA_READ, 8, b.address()), 0);
  settle();
  EXPECT_TRUE(b.responder.waits_for_receive());
  EXPECT_FALSE(b.responder.is_done());
  EXPECT_TRUE(a.sent.empty());
  b.receive(5, 8);
  b.responder.run();
  settle();
  EXPECT_TRUE(b.responder.is_done());
  ASSERT_EQ(a.sent.size(), 2u);
  EXPECT_EQ(a.sent[1].opcode, IBV_WC_RDMA_READ);
}

// [VRB-RNR-1]
TEST_F(MailboxTest, a_receiver_that_is_never_ready_is_given_up) {
  a.requester.set_limits(4, 3, 0);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  settle();
  EXPECT_EQ(a.timers, 1);
  a.requester.tick(3 * rnr_time(1) - 1);
  EXPECT_TRUE(a.sent.empty());
  a.requester.tick(3 * rnr_time(1));
  ASSERT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(a.timers, 0);
}

// [VRB-REQ-6] [VRB-RNR-1]: MRC's acknowledgements are late, so that the peer's confirmation alone counts.
TEST_F(MailboxTest, requests_carried_out_before_a_receiver_is_not_ready_succeed) {
  a.requester.set_limits(4, 0, 0);
  b.receive(5, 8);
  b.receive(6, 8);
  ASSERT_EQ(a.request(0, IBV_WR_SEND, 8), 0);
  ASSERT_EQ(a.request(1, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  for (uint64_t i = 2; i < 5; ++i) ASSERT_EQ(a.request(i, IBV_WR_SEND, 8), 0);
  while (!a.wire.empty()) carry(&a, &b, false);
  while (!b.wire.empty()) carry(&b, &a);
  EXPECT_EQ(b.received.size(), 2u);
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR});
  EXPECT_EQ(a.timers, 0);
}

TEST_F(MailboxTest, a_receiver_is_given_up_after_the_data_of_a_send_before) {
  a.requester.set_limits(4, 0, 0);
  b.receive(5, 100000);
  ASSERT_EQ(a.request(0, IBV_WR_SEND, 100000), 0);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  while (!a.wire.empty()) carry(&a, &b);
  while (!b.wire.empty()) carry(&b, &a);
  EXPECT_TRUE(a.sent.empty());
  EXPECT_EQ(a.timers, 0);
  a.requester.advance();
  settle();
  EXPECT_EQ(b.received.size(), 1u);
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_RNR_RETRY_EXC_ERR});
}

// The receive request comes before the sender has given up.
TEST_F(MailboxTest, a_receiver_that_gets_ready_in_time_is_not_given_up) {
  a.requester.set_limits(4, 0, 0);
  b.receive(5, 100000);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(a.request(i, IBV_WR_SEND, i == 0 ? 100000 : 8), 0);
  while (!a.wire.empty()) carry(&a, &b);
  while (!b.wire.empty()) carry(&b, &a);
  b.receive(6, 8);
  b.responder.run();
  a.requester.advance();
  settle();
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_RNR_RETRY_EXC_ERR});
}

// [VRB-REQ-6]: the last acknowledgements of a peer that has gone are lost, and its confirmation has arrived.
TEST_F(MailboxTest, requests_confirmed_by_the_peer_succeed_before_one_that_fails) {
  b.receive(5, 8);
  ASSERT_EQ(a.request(0, IBV_WR_SEND, 8), 0);
  for (uint64_t i = 1; i < 3; ++i) ASSERT_EQ(a.request(i, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  carry(&a, &b, false);
  b.responder.flush_ack();
  carry(&b, &a);
  EXPECT_TRUE(a.sent.empty());
  a.requester.on_completion(0, IBV_WC_RETRY_EXC_ERR);
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR});
}

TEST_F(MailboxTest, requests_confirmed_by_the_peer_are_not_flushed) {
  b.receive(5, 8);
  for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(a.request(i, IBV_WR_SEND, 8), 0);
  carry(&a, &b, false);
  b.responder.flush_ack();
  carry(&b, &a);
  a.requester.flush();
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR});
}

// [VRB-REQ-6]: MRC completes in order, and reports nothing about an unsignaled WRITE that has succeeded.
TEST_F(MailboxTest, an_unsignaled_write_before_one_that_fails_has_succeeded) {
  ibv_sge sge = {a.address(), 8, kKey};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma = {b.address(), kKey};
  ASSERT_EQ(a.requester.post(wr), 0);
  ASSERT_EQ(a.request(1, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  a.requester.on_completion(1, IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].wr_id, 1u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_REM_ACCESS_ERR);
}

// [VRB-REQ-6]
TEST_F(MailboxTest, memory_that_does_not_admit_a_read_fails_it_in_its_turn) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    a.requester.reset();
    a.outbox.reset();
    b.responder.reset();
    a.sent.clear();
    b.receive(5, 8);
    ASSERT_EQ(a.request(0, IBV_WR_SEND, 8), 0);
    ibv_sge sge = {a.address(), 8, kKey + 0x100};
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(a.requester.post(wr), 0);
    a.requester.advance();
    EXPECT_TRUE(a.sent.empty());
    settle();
    expect_statuses({IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR});
  }
}

// [VRB-REQ-6]: nothing shows the end of an unsignaled WRITE, so that the error does not wait for it.
TEST_F(MailboxTest, memory_that_does_not_admit_a_read_fails_it_behind_an_unsignaled_write) {
  ibv_sge sges[2] = {{a.address(), 8, kKey}, {a.address(), 8, kKey + 0x100}};
  ibv_send_wr read{}, write{};
  read.wr_id = 2;
  read.opcode = IBV_WR_RDMA_READ;
  read.send_flags = IBV_SEND_SIGNALED;
  read.sg_list = &sges[1];
  read.num_sge = 1;
  read.wr.rdma = {b.address(), kKey};
  write = read;
  write.wr_id = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = 0;
  write.sg_list = &sges[0];
  ASSERT_EQ(a.requester.post(write), 0);
  ASSERT_EQ(a.requester.post(read), 0);
  a.requester.advance();
  settle();
  ASSERT_EQ(a.sent.size(), 2u);
  EXPECT_EQ(a.sent[1].wr_id, 2u);
  EXPECT_EQ(a.sent[1].status, IBV_WC_LOC_PROT_ERR);
}

// [VRB-REQ-6]
TEST_F(MailboxTest, an_atomic_whose_memory_has_gone_when_its_answer_comes_fails) {
  ASSERT_EQ(a.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, b.address() + 64, 2), 0);
  ASSERT_EQ(a.request(2, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  KeyTable::Region region;
  region.base = a.buffer.data();
  region.iova = a.address();
  region.length = a.buffer.size();
  a.keys.add(kKey, region);  // without local write
  settle();
  ASSERT_EQ(a.sent.size(), 2u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(a.sent[1].status, IBV_WC_WR_FLUSH_ERR);
}

// [VRB-RSP-3] [VRB-REQ-6]
// [VRB-EVT-1]: the completions tell both.
TEST_F(MailboxTest, a_send_that_is_too_long_fails_on_both_sides) {
  b.receive(5, 7);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  ASSERT_EQ(a.request(2, IBV_WR_SEND, 8), 0);
  settle();
  EXPECT_EQ(b.received.at(0).status, IBV_WC_LOC_LEN_ERR);
  ASSERT_EQ(a.sent.size(), 2u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(a.sent[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(a.failed && b.failed);
  EXPECT_EQ(a.event, std::nullopt);
  EXPECT_EQ(b.event, std::nullopt);
}

// [VRB-RSP-3]
TEST_F(MailboxTest, a_send_that_is_too_long_waits_for_the_data_of_the_one_before) {
  b.receive(5, 100000);
  b.receive(6, 7);
  b.receive(7, 8);
  the_second_send_fails_in_its_turn(8, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
}

// [VRB-RSP-3]
TEST_F(MailboxTest, a_send_without_writable_memory_waits_for_the_data_of_the_one_before) {
  b.receive(5, 100000);
  b.receive(6, 8, 0, kKey + 0x100);
  b.receive(7, 8);
  the_second_send_fails_in_its_turn(8, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b.event, std::nullopt);
}

// [VRB-RSP-3]
TEST_F(MailboxTest, an_announced_send_without_writable_memory_waits_for_the_data_of_the_one_before) {
  b.receive(5, 100000);
  b.receive(6, 100000, 0, kKey + 0x100);
  b.receive(7, 8);
  the_second_send_fails_in_its_turn(100000, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b.event, std::nullopt);
}

// Every receive request has a completion. [VRB-RSP-1]
TEST_F(MailboxTest, a_queue_pair_that_refuses_the_answer_to_an_announced_send_fails_at_once) {
  b.receive(5, 100000);
  b.receive(6, 100000);
  for (uint64_t i = 1; i <= 2; ++i) ASSERT_EQ(a.request(i, IBV_WR_SEND, 100000), 0);
  carry(&a, &b);
  b.refuses = true;
  carry(&a, &b);
  EXPECT_EQ(b.event, IBV_EVENT_QP_FATAL);
  ASSERT_EQ(b.received.size(), 2u);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(b.received[i].wr_id, 5 + i);
    EXPECT_EQ(b.received[i].status, IBV_WC_WR_FLUSH_ERR);
  }
}

class GoneTest : public MailboxTest {
 protected:
  ~GoneTest() override { Side::gone_at = 0; }
};

// [VRB-RSP-12]: the target of an atomic was unmapped under its registration.
TEST_F(GoneTest, an_atomic_on_memory_that_is_gone_fails_both_sides) {
  ASSERT_EQ(a.request(1, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  ASSERT_EQ(a.request(2, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, b.address() + 64, 2), 0);
  Side::gone_at = b.address() + 64;
  settle();
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_REM_OP_ERR});
  EXPECT_EQ(b.event, IBV_EVENT_QP_FATAL);
  ASSERT_EQ(b.gone.size(), 1u);
  EXPECT_EQ(b.gone[0].address, b.address() + 64);
  EXPECT_EQ(b.gone[0].region, b.address());
  EXPECT_EQ(b.gone[0].length, b.buffer.size());
  EXPECT_EQ(b.gone[0].key, kKey);
}

// [VRB-RSP-12]
TEST_F(GoneTest, a_send_into_memory_that_is_gone_fails_both_sides) {
  b.receive(5, 64, 128);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  Side::gone_at = b.address() + 128;
  settle();
  EXPECT_EQ(b.received.at(0).status, IBV_WC_LOC_PROT_ERR);
  expect_statuses({IBV_WC_REM_OP_ERR});
  EXPECT_TRUE(b.failed);
  EXPECT_EQ(b.event, std::nullopt);
  EXPECT_EQ(b.gone.size(), 1u);
}

// [VRB-RSP-12]: it is reported then, too, because the queue pair fails only then.
TEST_F(GoneTest, a_send_into_memory_that_is_gone_waits_for_the_data_of_the_one_before) {
  b.receive(5, 100000);
  b.receive(6, 8, 200000);
  b.receive(7, 8);
  Side::gone_at = b.address() + 200000;
  the_second_send_fails_in_its_turn(8, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b.event, std::nullopt);
  ASSERT_EQ(b.gone.size(), 1u);
  EXPECT_EQ(b.gone[0].address, b.address() + 200000);
}

// [VRB-RSP-12]
TEST_F(GoneTest, an_atomic_whose_result_cannot_be_stored_fails) {
  ASSERT_EQ(a.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, b.address() + 64, 2), 0);
  Side::gone_at = a.address();
  settle();
  expect_statuses({IBV_WC_LOC_PROT_ERR});
  EXPECT_EQ(a.gone.size(), 1u);
  EXPECT_TRUE(b.gone.empty());
}

// Memory that goes while the transport writes a peer's data to it. [VRB-RSP-14]
class LostTest : public GoneTest {
 protected:
  static constexpr uint32_t kOtherKey = kKey + 1;
  static constexpr uint32_t kOtherAt = 1 << 19;
  static constexpr uint32_t kLong = 100000;

  struct OtherLanding final : LandingOwner {
    uint32_t make_landing() override { return 0x501; }
  };
  // Of three SENDs the first is complete, and the data of the second is the next that `from` writes, to a region of its
  // own.
  void send_three(Side* from, Side* to) {
    KeyTable::Region region;
    region.base = to->buffer.data() + kOtherAt;
    region.iova = to->address() + kOtherAt;
    region.length = kLong;
    region.access = IBV_ACCESS_LOCAL_WRITE;
    region.owner = &landing;
    to->keys.add(kOtherKey, region);
    to->receive(5, kLong);
    to->receive(6, kLong, kOtherAt, kOtherKey);
    to->receive(7, 8);
    for (uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(from->request(i, IBV_WR_SEND, i == 3 ? 8 : kLong), 0);
    while (!from->wire.empty()) carry(from, to);
    while (!to->wire.empty()) carry(to, from);
    from->requester.advance();
    for (int i = 0; i < 2; ++i) carry(from, to);  // data and note
    to->responder.flush_ack();
    carry(to, from);
    EXPECT_EQ(statuses(from->sent), std::vector{IBV_WC_SUCCESS});
    EXPECT_EQ(statuses(to->received), std::vector{IBV_WC_SUCCESS});
  }

  OtherLanding landing;
};

// MRC refuses the data of a region that was deregistered, and cannot write that of one whose memory was unmapped.
TEST_F(LostTest, a_receive_request_whose_memory_goes_has_the_error) {
  for (const bool deregistered : {true, false}) {
    Side from(2), to(3);
    ASSERT_NO_FATAL_FAILURE(send_three(&from, &to));
    EXPECT_FALSE(to.responder.find_lost_receive());
    if (deregistered)
      to.keys.remove(kOtherKey);
    else
      Side::gone_at = to.address() + kOtherAt + kLong - 1;
    EXPECT_TRUE(to.responder.find_lost_receive());
    to.fail(std::nullopt);
    EXPECT_EQ(statuses(to.received), (std::vector{IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR}));
    EXPECT_EQ(to.received.at(1).wr_id, 6u);
    from.requester.on_completion(static_cast<uint32_t>(from.wire.at(0).wr.wr_id),
                                 deregistered ? IBV_WC_REM_ACCESS_ERR : IBV_WC_REM_OP_ERR);
    EXPECT_EQ(statuses(from.sent), (std::vector{IBV_WC_SUCCESS, IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR}));
    EXPECT_EQ(from.event, std::nullopt);
    Side::gone_at = 0;
  }
}

// A SEND before it that has no answer yet does not take its error.
TEST_F(LostTest, a_send_whose_own_memory_goes_has_the_error) {
  Side from(2), to(3);
  to.receive(5, kLong);
  to.receive(6, kLong);
  for (uint64_t i = 1; i <= 2; ++i) ASSERT_EQ(from.request(i, IBV_WR_SEND, kLong), 0);
  while (!from.wire.empty()) carry(&from, &to);
  while (!to.wire.empty()) carry(&to, &from);
  from.requester.advance();
  for (int i = 0; i < 2; ++i) carry(&from, &to);
  from.requester.on_completion(static_cast<uint32_t>(from.wire.at(0).wr.wr_id), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(statuses(from.sent), (std::vector{IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_PROT_ERR}));
}

TEST_F(LostTest, a_read_whose_memory_goes_has_the_error) {
  ASSERT_EQ(a.request(1, IBV_WR_RDMA_READ, 8, b.address()), 0);
  settle();
  for (uint64_t i = 2; i <= 3; ++i) ASSERT_EQ(a.request(i, IBV_WR_RDMA_READ, 8, b.address()), 0);
  EXPECT_FALSE(a.requester.fail_lost_read());
  a.keys.remove(kKey);
  EXPECT_TRUE(a.requester.fail_lost_read());
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR});
  EXPECT_TRUE(a.failed);
  EXPECT_EQ(a.event, std::nullopt);
}

// The data of its answer fails, by the reader's memory or by its own. [VRB-EVT-1]
TEST_F(LostTest, a_peer_that_answers_a_read_has_no_request_at_fault) {
  const struct {
    ibv_wc_status status;
    bool busy;
    std::vector<ibv_wc_status> sent;
    std::optional<ibv_event_type> event;
  } cases[] = {{IBV_WC_REM_ACCESS_ERR, true, {IBV_WC_REM_OP_ERR}, std::nullopt},
               {IBV_WC_REM_ACCESS_ERR, false, {}, IBV_EVENT_QP_FATAL},
               {IBV_WC_LOC_PROT_ERR, true, {IBV_WC_WR_FLUSH_ERR}, IBV_EVENT_QP_FATAL},
               {IBV_WC_LOC_PROT_ERR, false, {}, IBV_EVENT_QP_FATAL}};
  for (const auto& c : cases) {
    Side reader(2), owner(3);
    ASSERT_EQ(reader.request(1, IBV_WR_RDMA_READ, 8, owner.address()), 0);
    carry(&reader, &owner);
    const auto data = static_cast<uint32_t>(owner.wire.at(0).wr.wr_id);
    if (c.busy) {
      ASSERT_EQ(owner.request(2, IBV_WR_SEND, 8), 0);
    }
    owner.requester.on_completion(data, c.status);
    EXPECT_TRUE(owner.failed);
    EXPECT_EQ(statuses(owner.sent), c.sent);
    EXPECT_EQ(owner.event, c.event);
  }
}

// [VRB-RSP-12]: refused at once, and nothing is posted.
TEST_F(GoneTest, inline_data_that_cannot_be_read_is_refused) {
  Side::gone_at = a.address() + 8;
  EXPECT_EQ(a.request(1, IBV_WR_SEND, 16, 0, 0, IBV_SEND_INLINE), EFAULT);
  EXPECT_EQ(a.request(2, IBV_WR_SEND, 8, 0, 0, IBV_SEND_INLINE), 0);
  b.receive(5, 64);
  settle();
  ASSERT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].wr_id, 2u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_SUCCESS);
}

TEST_F(MailboxTest, atomics_give_the_value_before) {
  uint64_t value = 40;
  std::memcpy(b.buffer.data() + 64, &value, 8);
  ASSERT_EQ(a.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, b.address() + 64, 2), 0);
  settle();
  std::memcpy(&value, a.buffer.data(), 8);
  EXPECT_EQ(value, 40u);
  std::memcpy(&value, b.buffer.data() + 64, 8);
  EXPECT_EQ(value, 42u);
  ASSERT_EQ(a.request(2, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, b.address() + 4, 2), 0);
  settle();
  EXPECT_EQ(a.sent.at(1).status, IBV_WC_REM_INV_REQ_ERR);
}

// [VRB-RSP-3]
TEST_F(MailboxTest, a_receive_buffer_that_is_not_writable_fails_on_both_sides) {
  KeyTable::Region region;
  region.base = b.buffer.data();
  region.iova = b.address();
  region.length = b.buffer.size();
  b.keys.add(kKey, region);  // without local write
  b.receive(5, 8);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  settle();
  EXPECT_EQ(b.received.at(0).status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(a.sent.at(0).status, IBV_WC_REM_OP_ERR);
}

// [VRB-REQ-4]: four READs and atomics in flight, and a fenced request waits for all of them.
TEST_F(MailboxTest, reads_in_flight_are_limited_and_a_fence_waits_for_them) {
  for (uint64_t i = 0; i < 5; ++i) ASSERT_EQ(a.request(i, IBV_WR_RDMA_READ, 8, b.address()), 0);
  EXPECT_EQ(a.wire.size(), 4u);
  settle();
  EXPECT_EQ(a.sent.size(), 5u);
  ASSERT_EQ(a.request(5, IBV_WR_RDMA_READ, 8, b.address()), 0);
  ASSERT_EQ(a.request(6, IBV_WR_RDMA_WRITE, 8, b.address(), 0, IBV_SEND_FENCE), 0);
  EXPECT_EQ(a.wire.size(), 1u);
  settle();
  EXPECT_EQ(a.sent.size(), 7u);
  ASSERT_EQ(a.request(7, IBV_WR_RDMA_READ, 8, b.address()), 0);
  ASSERT_EQ(a.request(8, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  EXPECT_EQ(a.wire.size(), 2u);  // without the fence
}

// The READ is over for both applications, and MRC may yet have to send its data again. [VRB-RSP-10]
TEST_F(MailboxTest, memory_of_a_read_is_lent_until_its_note_is_completed) {
  ASSERT_EQ(a.request(1, IBV_WR_RDMA_READ, 8, b.address()), 0);
  carry(&a, &b);
  while (!b.wire.empty()) carry(&b, &a, false);  // MRC's acknowledgement is late
  ASSERT_EQ(a.sent.size(), 1u);
  const std::weak_ptr<void> lent = b.keys.remove(kKey);
  EXPECT_FALSE(b.keys.allowed(kKey, b.address(), 8, IBV_ACCESS_REMOTE_READ, nullptr));
  EXPECT_FALSE(lent.expired());
  b.requester.on_completion(Outbox::kInternal, IBV_WC_SUCCESS);
  EXPECT_TRUE(lent.expired());
}

// Completions of what was posted before the note do not end the loan. [VRB-RSP-10]
TEST_F(MailboxTest, a_loan_is_returned_by_its_own_note) {
  ASSERT_EQ(b.request(1, IBV_WR_RDMA_WRITE, 8, a.address()), 0);
  ASSERT_EQ(a.request(2, IBV_WR_RDMA_READ, 8, b.address()), 0);
  ASSERT_EQ(a.request(3, IBV_WR_RDMA_READ, 0, b.address()), 0);  // of no memory
  while (!a.wire.empty()) carry(&a, &b);
  const std::weak_ptr<void> lent = b.keys.remove(kKey);
  b.requester.on_completion(0, IBV_WC_SUCCESS);  // of the WRITE
  EXPECT_FALSE(lent.expired());
  b.requester.on_completion(Outbox::kInternal, IBV_WC_SUCCESS);
  EXPECT_TRUE(lent.expired());
  EXPECT_TRUE(b.keys.remove(kKey).expired());  // unknown by now
}

// [VRB-RSP-10]
TEST_F(MailboxTest, loans_end_with_the_connection) {
  for (const bool reset : {false, true}) {
    Side side(9);
    const std::weak_ptr<void> lent = [&] {
      Loan loan = side.keys.lend(kKey, side.address(), 8, IBV_ACCESS_REMOTE_READ, nullptr);
      EXPECT_TRUE(side.outbox.note({Note::kReadDone, 0, 1}, std::move(loan)));
      return side.keys.remove(kKey);
    }();
    EXPECT_FALSE(lent.expired());
    reset ? side.outbox.reset() : side.outbox.drop();
    EXPECT_TRUE(lent.expired());
  }
}

// MRC's queue pair goes on until the refusal is out, and the flushed request is before it. [VRB-RSP-10]
TEST_F(MailboxTest, memory_of_flushed_requests_is_lent_to_the_end) {
  for (const ibv_wr_opcode opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    Side side(9);
    side.request(1, IBV_WR_RDMA_READ, 8);
    side.request(2, opcode, 8);
    side.requester.flush();
    ASSERT_EQ(side.sent.size(), 2u);
    const std::weak_ptr<void> lent = side.keys.remove(kKey);
    EXPECT_EQ(lent.expired(), opcode != IBV_WR_RDMA_WRITE);  // the others only receive
    side.outbox.drop();
    EXPECT_TRUE(lent.expired());
  }
}

// A peer that acknowledges no data, and goes on. [VRB-RSP-10]
TEST_F(MailboxTest, reads_wait_while_a_window_of_them_is_not_completed) {
  a.requester.set_limits(kWindow + 1, 7, 0);
  const auto serve = [&](uint64_t id) {
    EXPECT_EQ(a.request(id, IBV_WR_RDMA_READ, 8, b.address()), 0);
    while (!a.wire.empty()) carry(&a, &b);
    while (!b.wire.empty()) carry(&b, &a, false);
    return a.sent.size();
  };
  for (uint64_t i = 1; i <= kWindow; ++i) ASSERT_EQ(serve(i), i);
  EXPECT_EQ(serve(kWindow + 1), kWindow);
  b.requester.on_completion(Outbox::kInternal, IBV_WC_SUCCESS);
  b.responder.run();
  settle();
  EXPECT_EQ(a.sent.size(), kWindow + 1u);
  EXPECT_FALSE(a.failed || b.failed);
}

// [VRB-REQ-1] [VRB-REQ-3]
TEST_F(MailboxTest, a_write_waits_for_the_data_of_a_send_before_it) {
  b.receive(5, 100000);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 100000), 0);
  ASSERT_EQ(a.request(2, IBV_WR_RDMA_WRITE, 8, b.address()), 0);
  EXPECT_EQ(a.wire.size(), 1u);  // the announcement alone
  carry(&a, &b);
  carry(&b, &a);
  a.requester.advance();
  ASSERT_EQ(a.wire.size(), 3u);  // data, note, then the write
  EXPECT_EQ(a.wire[2].bytes.size(), 8u);
}

// The answer of a peer, which confirms what it answers, comes after the completion of that. [VRB-RSP-9]
TEST_F(MailboxTest, an_answer_waits_for_the_completion_before_it) {
  a.receive(1, 8);
  b.receive(2, 8);
  ASSERT_EQ(a.request(3, IBV_WR_SEND, 8), 0);
  carry(&a, &b, false);  // MRC's acknowledgement is late
  ASSERT_EQ(b.received.size(), 1u);
  ASSERT_EQ(b.request(4, IBV_WR_SEND, 8), 0);
  carry(&b, &a);
  EXPECT_TRUE(a.received.empty());
  EXPECT_TRUE(a.sent.empty());
  a.requester.on_completion(0, IBV_WC_SUCCESS);
  EXPECT_EQ(a.sent.size(), 1u);
  a.responder.run();
  EXPECT_EQ(a.received.size(), 1u);
}

// With a full window the slot of the last confirmed number belongs to the newest message.
TEST_F(MailboxTest, full_windows_in_both_directions_move_on) {
  for (uint64_t i = 0; i < 2 * kWindow; ++i) {
    a.receive(i, 8);
    b.receive(i, 8);
  }
  for (uint64_t i = 0; i < 2 * kWindow; ++i) {
    ASSERT_EQ(a.request(i, IBV_WR_SEND, 8), 0);
    ASSERT_EQ(b.request(i, IBV_WR_SEND, 8), 0);
  }
  carry(&a, &b);
  b.responder.flush_ack();
  while (b.wire.size() > 1) carry(&b, &a);
  carry(&b, &a);  // the confirmation: one more message goes, the window is full again
  a.requester.advance();
  EXPECT_EQ(a.wire.size(), kWindow);
  EXPECT_FALSE(a.requester.completion_due());
  settle();
  EXPECT_EQ(a.sent.size(), 2 * kWindow);
  EXPECT_EQ(b.sent.size(), 2 * kWindow);
}

// [VRB-REQ-7]
TEST_F(MailboxTest, a_peer_that_owes_an_answer_is_tested) {
  EXPECT_FALSE(a.requester.keep_alive());
  ASSERT_EQ(a.request(1, IBV_WR_RDMA_READ, 8, b.address()), 0);
  EXPECT_TRUE(a.requester.keep_alive());
  EXPECT_TRUE(a.requester.keep_alive());
  EXPECT_EQ(a.wire.size(), 1u);  // the message is on its way, and tests the peer as well
  carry(&a, &b);
  EXPECT_TRUE(a.requester.keep_alive());
  EXPECT_TRUE(a.requester.keep_alive());
  ASSERT_EQ(a.wire.size(), 1u);  // one test at a time
  EXPECT_EQ(a.wire[0].wr.opcode, IBV_WR_RDMA_WRITE);
  EXPECT_TRUE(a.wire[0].bytes.empty());
  settle();
  ASSERT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_SUCCESS);
  EXPECT_FALSE(a.requester.keep_alive());
}

TEST_F(MailboxTest, a_peer_that_answers_is_not_tested) {
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(a.request(i, IBV_WR_RDMA_READ, 8, b.address()), 0);
    carry(&a, &b);
  }
  for (int left = 2; left >= 0; --left) {
    EXPECT_TRUE(a.requester.keep_alive());
    EXPECT_TRUE(a.wire.empty());
    carry(&b, &a);  // data
    carry(&b, &a);  // and its note
  }
  EXPECT_FALSE(a.requester.keep_alive());
}

TEST_F(MailboxTest, requests_end_with_a_peer_that_fails_the_test) {
  for (uint64_t i = 0; i < 2; ++i) {
    ASSERT_EQ(a.request(i, IBV_WR_RDMA_READ, 8, b.address()), 0);
    carry(&a, &b);
  }
  ASSERT_NO_FATAL_FAILURE(the_test_of_two_requests_fails());
  EXPECT_TRUE(a.failed);
  EXPECT_FALSE(a.requester.keep_alive());
}

TEST_F(MailboxTest, the_oldest_request_has_the_status_of_a_failed_test) {
  ASSERT_EQ(a.request(0, IBV_WR_SEND, 8), 0);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, kSlotBytes + 1), 0);  // announced
  while (!a.wire.empty()) carry(&a, &b);
  ASSERT_NO_FATAL_FAILURE(the_test_of_two_requests_fails());
}

// [VRB-RSP-11]
TEST_F(MailboxTest, a_responder_that_ends_refuses_reads_that_wait) {
  ASSERT_EQ(a.request(0, IBV_WR_SEND, 8), 0);
  b.receive(0, 8);
  settle();
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);  // waits for a receive request
  ASSERT_EQ(a.request(2, IBV_WR_RDMA_READ, 8, b.address()), 0);
  settle();
  b.responder.abandon();
  settle();
  ASSERT_EQ(a.sent.size(), 3u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(a.sent[1].status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(a.sent[2].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_FALSE(b.failed);  // that is for the application to do
}

TEST_F(MailboxTest, a_responder_that_ends_is_silent_about_sends) {
  b.responder.abandon();
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  settle();
  b.responder.abandon();
  ASSERT_EQ(b.wire.size(), 0u);
  b.receive(0, 8);
  b.responder.run();
  settle();
  ASSERT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_SUCCESS);
}

// Every receive request has a completion. [VRB-RSP-1]
TEST_F(MailboxTest, sends_behind_one_whose_data_does_not_come_are_flushed_with_it) {
  b.receive(5, 100000);
  b.receive(6, 8);
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 100000), 0);
  ASSERT_EQ(a.request(2, IBV_WR_SEND, 8), 0);
  while (!a.wire.empty()) carry(&a, &b);
  EXPECT_TRUE(b.received.empty());
  b.responder.flush();
  ASSERT_EQ(b.received.size(), 2u);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(b.received[i].wr_id, 5 + i);
    EXPECT_EQ(b.received[i].status, IBV_WC_WR_FLUSH_ERR);
  }
}

// MRC completes every request behind one that failed, and that one, too, signalled or not: as many as that come, and no
// message of the protocol is left, for which the end of the queue pair would wait. [VRB-RSP-5]
TEST_F(MailboxTest, messages_behind_an_unsignaled_write_that_fails_are_in_flight_no_more) {
  for (const bool signalled_between : {false, true}) {
    Side side(9);
    ibv_sge sge = {side.address(), 8, kKey};
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(side.requester.post(wr), 0);
    side.requester.advance();
    if (signalled_between) side.request(1, IBV_WR_RDMA_WRITE, 8);
    ASSERT_TRUE(side.outbox.note({Note::kAck, 0, 0}));
    EXPECT_EQ(side.outbox.own_in_flight(), 1u);
    side.requester.on_completion(0, IBV_WC_REM_ACCESS_ERR);
    if (signalled_between) side.requester.on_completion(1, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(side.outbox.own_in_flight(), 1u);
    side.requester.on_completion(Outbox::kInternal, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(side.outbox.own_in_flight(), 0u);
    side.requester.reset();
    side.outbox.reset();
    ASSERT_TRUE(side.outbox.note({Note::kAck, 0, 0}));
    side.requester.on_completion(Outbox::kInternal, IBV_WC_SUCCESS);
    EXPECT_EQ(side.outbox.own_in_flight(), 0u);
  }
}

// What the queue pair does not take will not complete.
TEST_F(MailboxTest, a_message_that_is_refused_is_not_in_flight) {
  ASSERT_TRUE(a.outbox.note({Note::kAck, 0, 0}));
  a.refuses = true;
  EXPECT_FALSE(a.outbox.note({Note::kAck, 0, 1}));
  EXPECT_EQ(a.outbox.own_in_flight(), 1u);
}

// [VRB-MBX-3]
TEST_F(MailboxTest, a_peer_without_mailbox_is_an_error) {
  ASSERT_EQ(a.request(1, IBV_WR_SEND, 8), 0);
  a.requester.on_completion(0, IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(a.sent.size(), 1u);
  EXPECT_EQ(a.sent[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_TRUE(a.failed);
}

// By a note, by a request of the peer, or by the refusal of the next one. [VRB-MBX-2] [VRB-REQ-6]
TEST_F(MailboxTest, an_announced_send_cannot_be_confirmed_before_its_data_is_sent) {
  using Confirm = void (*)(Side*, uint32_t number);
  const Confirm confirmations[] = {
      [](Side* s, uint32_t n) {
        s->requester.on_note({Note::kAck, 0, n}, s->mailbox.data(), 0);
      },
      [](Side* s, uint32_t n) { s->requester.on_confirmation(n); },
      [](Side* s, uint32_t n) {
        s->requester.on_note({Note::kRefused, IBV_WC_REM_OP_ERR, n + 1}, s->mailbox.data(), 0);
      },
  };
  for (const Confirm confirm : confirmations) {
    Side side(9);
    side.request(1, IBV_WR_SEND, 8);
    side.request(2, IBV_WR_SEND, 100000);
    side.request(3, IBV_WR_SEND, 8);
    side.requester.on_confirmation(1);
    EXPECT_FALSE(side.failed);
    confirm(&side, 2);
    EXPECT_TRUE(side.failed);
    ASSERT_EQ(side.sent.size(), 3u);
    EXPECT_EQ(side.sent[0].status, IBV_WC_SUCCESS);
    EXPECT_EQ(side.sent[1].status, IBV_WC_BAD_RESP_ERR);
    EXPECT_EQ(side.sent[2].status, IBV_WC_WR_FLUSH_ERR);
  }
}

// An answer to nothing, one that does not exist, one that allows what needs none. [VRB-REQ-6]
TEST_F(MailboxTest, requests_confirmed_by_the_peer_succeed_before_it_breaks_the_protocol) {
  const Immediate answers[] = {{Note::kAck, 0, 3}, {static_cast<Note>(15), 0, 2}, {Note::kClear, 0, 2}};
  for (const Immediate& answer : answers) {
    Side side(9);
    for (uint64_t i = 1; i <= 2; ++i) side.request(i, IBV_WR_SEND, 8);
    side.requester.on_confirmation(1);  // before MRC's acknowledgement
    EXPECT_TRUE(side.sent.empty());
    side.requester.on_note(answer, side.mailbox.data(), 0);
    ASSERT_EQ(side.sent.size(), 2u);
    EXPECT_EQ(side.sent[0].status, IBV_WC_SUCCESS);
    EXPECT_EQ(side.sent[1].status, IBV_WC_BAD_RESP_ERR);
  }
}

// What it refuses itself may have no data. [VRB-RSP-3]
TEST_F(MailboxTest, an_announced_send_can_be_refused_before_its_data_is_sent) {
  a.request(1, IBV_WR_SEND, 8);
  a.request(2, IBV_WR_SEND, 100000);
  a.requester.on_note({Note::kRefused, IBV_WC_REM_OP_ERR, 2}, a.mailbox.data(), 0);
  expect_statuses({IBV_WC_SUCCESS, IBV_WC_REM_OP_ERR});
}

// Whatever a peer writes and announces, nothing worse than an error happens. [VRB-MBX-2]
TEST_F(MailboxTest, hostile_messages_end_the_connection) {
  for (uint32_t note = 0; note < 16; ++note)
    for (uint32_t number : {0u, 1u, 2u, 63u, 64u, kNumberMask}) {
      auto side = std::make_unique<Side>(9);
      std::memset(side->mailbox.data(), 0xFF, side->mailbox.size());
      if (number == 1) side->mailbox[request_offset(1)] = static_cast<uint8_t>(note);
      if (number == 1) put32(&side->mailbox[request_offset(1) + 4], 1);
      side->receive(1, 100);
      side->request(2, IBV_WR_SEND, 8);
      side->request(3, IBV_WR_SEND, 100000);
      const Immediate i{static_cast<Note>(note), 0xFF, number};
      if (note < 8)
        side->responder.on_note(i, side->mailbox.data());
      else
        side->requester.on_note(i, side->mailbox.data(), 0);
      if (i.note == Note::kClear && number == 1) {
        EXPECT_TRUE(side->failed);
      }
    }
}

}  // namespace
}  // namespace mrc::shim
