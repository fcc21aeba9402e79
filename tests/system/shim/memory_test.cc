// Memory runs out in the functions of verbs and in those of the C library that look for our devices: they fail, or do
// what the real ones do, and the program goes on. malloc() is replaced, because the shim has operator new in itself.
#include <dirent.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "first_device.h"

extern "C" void* __libc_malloc(size_t size);

namespace {

thread_local bool armed = false;
thread_local uint64_t allocations = 0, fail_from = 0, fail_to = 0;  // inside an Armed scope

struct Armed {
  Armed(uint64_t from, uint64_t to) {
    allocations = 0;
    fail_from = from;
    fail_to = to;
    armed = true;
  }
  ~Armed() { armed = false; }
};

}  // namespace

extern "C" void* malloc(size_t size) {
  if (armed && allocations++ >= fail_from && allocations <= fail_to) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

namespace {

template <typename Object>
void take_down(Object* object, int (*destroy)(Object*)) {
  if (object == nullptr) return;
  EXPECT_EQ(destroy(object), 0);
}

// Makes whatever can be made, and takes it down again.
void make_everything(ibv_context* context) {
  static char memory[4096];
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  ibv_cq* const cq = ibv_create_cq(context, 16, nullptr, channel, 0);
  if (cq != nullptr) (void)ibv_resize_cq(cq, 32);
  ibv_mr* const mr = pd != nullptr ? ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE) : nullptr;
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = shared.attr.max_sge = 4;
  ibv_srq* const srq = pd != nullptr ? ibv_create_srq(pd, &shared) : nullptr;
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 4;
  ibv_qp* const qp = pd != nullptr && cq != nullptr ? ibv_create_qp(pd, &init) : nullptr;
  armed = false;
  take_down(qp, ibv_destroy_qp);
  take_down(srq, ibv_destroy_srq);
  take_down(mr, ibv_dereg_mr);
  take_down(cq, ibv_destroy_cq);
  take_down(channel, ibv_destroy_comp_channel);
  take_down(pd, ibv_dealloc_pd);
}

void use_paths(ibv_context*) {
  const char* const folder = "/sys/class/infiniband";
  struct stat s;
  (void)stat(folder, &s);
  (void)access(folder, R_OK);
  if (DIR* const dir = opendir(folder)) {
    while (readdir(dir) != nullptr) {
    }
    closedir(dir);
  }
}

// Fails each allocation of `body` once.
void fail_each(void (*body)(ibv_context*)) {
  ibv_context* const context = open_first_device();
  ASSERT_NE(context, nullptr);
  body(context);
  uint64_t nth = 0;
  do {
    const Armed on(nth, nth + 1);
    body(context);
  } while (allocations > nth++ && nth < 5000);
  EXPECT_GE(nth, 5u);
  EXPECT_LT(nth, 5000u);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(Memory, verbs_functions_fail_and_the_program_goes_on) {
  fail_each(make_everything);
}

TEST(Memory, functions_with_paths_do_what_the_real_ones_do) {
  fail_each(use_paths);
}

TEST(Memory, a_shared_receive_queue_that_does_not_fit_is_refused) {
  ibv_context* const context = open_first_device();
  ASSERT_NE(context, nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_srq_init_attr init{};
  init.attr.max_wr = init.attr.max_sge = 4;
  errno = 0;
  ibv_srq* srq;
  {
    const Armed on(0, UINT64_MAX);
    srq = ibv_create_srq(pd, &init);
  }
  EXPECT_EQ(srq, nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
