// The number of a channel's descriptor is closed and used for another file, as by another thread of the program, while
// a command on it is at work. The kernel's calls have a reference to the file, and so has the shim's. [CM-FD-2]
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/types.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <utility>

namespace {

// After so many looks of the service at the descriptor `number`, it names what `other` does.
struct Swap {
  int number = -1, other = -1;
  int looks_left = 0;
} swap_at;

}  // namespace

// In place of the C library's: the service looks at descriptors by it (verbs-shim/rdma_cm/id.h).
extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  static const auto real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  const long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (number == SYS_fstat && a[0] == swap_at.number && --swap_at.looks_left == 0)
    dup2(std::exchange(swap_at.other, -1), std::exchange(swap_at.number, -1));
  return result;
}

namespace {

// 0 or an errno value.
template <typename In>
int command(int fd, uint32_t number, const In& in, uint16_t out = 0) {
  uint8_t bytes[sizeof(rdma_ucm_cmd_hdr) + sizeof in];
  const rdma_ucm_cmd_hdr header = {number, sizeof in, out};
  std::memcpy(bytes, &header, sizeof header);
  std::memcpy(bytes + sizeof header, &in, sizeof in);
  return write(fd, bytes, sizeof bytes) == sizeof bytes ? 0 : errno;
}

bool readable(int fd) {
  pollfd waits = {fd, POLLIN, 0};
  return poll(&waits, 1, 0) == 1;
}

// An id with an event that is not taken.
uint32_t resolved_id(int fd) {
  rdma_ucm_create_id_resp made{};
  rdma_ucm_create_id create{};
  create.uid = 1;
  create.response = reinterpret_cast<uint64_t>(&made);
  create.ps = RDMA_PS_TCP;
  EXPECT_EQ(command(fd, RDMA_USER_CM_CMD_CREATE_ID, create, sizeof made), 0);
  rdma_ucm_resolve_ip resolve{};
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(1);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::memcpy(&resolve.dst_addr, &to, sizeof to);
  resolve.id = made.id;
  EXPECT_EQ(command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, resolve), 0);
  EXPECT_TRUE(readable(fd));
  return made.id;
}

int destroy(int fd, uint32_t id) {
  rdma_ucm_destroy_id_resp answer{};
  rdma_ucm_destroy_id in{};
  in.response = reinterpret_cast<uint64_t>(&answer);
  in.id = id;
  return command(fd, RDMA_USER_CM_CMD_DESTROY_ID, in, sizeof answer);
}

int take_event(int fd) {
  rdma_ucm_event_resp event{};
  rdma_ucm_get_event in{};
  in.response = reinterpret_cast<uint64_t>(&event);
  return command(fd, RDMA_USER_CM_CMD_GET_EVENT, in, sizeof event);
}

// Another copy of the descriptor stays.
TEST(ShimRdmaCm, a_number_that_is_used_again_meanwhile_is_not_read) {
  for (const int looks : {0, 1, 2, 3}) {  // 0: never
    SCOPED_TRACE(looks);
    const int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK), copy = dup(fd);
    ASSERT_GE(copy, 0);
    int other[2];
    ASSERT_EQ(pipe(other), 0);
    ASSERT_EQ(write(other[1], "x", 1), 1);
    const uint32_t id = resolved_id(fd);

    swap_at = {fd, other[0], looks};
    EXPECT_EQ(destroy(fd, id), 0);
    EXPECT_TRUE(readable(other[0]));
    swap_at = {};

    EXPECT_EQ(take_event(copy), EAGAIN);  // it went with its id
    EXPECT_FALSE(readable(copy));
    resolved_id(copy);
    EXPECT_EQ(take_event(copy), 0);
    EXPECT_FALSE(readable(copy));
    for (const int open_one : {fd, copy, other[0], other[1]}) close(open_one);
  }
}

}  // namespace
