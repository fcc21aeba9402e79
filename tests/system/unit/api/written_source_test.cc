// A thread of the program writes to the memory of a request while it is sent, over sockets, over shared memory and with
// several engines. In virtual time, at a moment that is always the same:
// tests/fast/unit/device/changing_source_test.cc.
#include <atomic>
#include <string>
#include <thread>

#include "harness/api_pair.h"

namespace mrc::api {
namespace {

class WrittenSourceTest : public ApiTest {
 protected:
  std::string stats() {
    std::string text(65536, '\0');
    text.resize(static_cast<size_t>(mrc_soft_query_stats(verbs, text.data(), text.size())));
    return "\n" + text;
  }
};

// The race is what is tested, so ThreadSanitizer does not look.
__attribute__((no_sanitize("thread"))) void write_until(const std::atomic<bool>* stop, volatile uint8_t* bytes) {
  for (uint8_t value = 0; !*stop; ++value)
    for (size_t i = 0; i < End::kBytes; i += 64) bytes[i] = value;
}

TEST_F(WrittenSourceTest, no_packet_has_a_wrong_icrc) {
  End a(context, pd), b(context, pd);
  connect(&a, &b);
  std::atomic<bool> stop{false};
  std::thread writer([&] { write_until(&stop, a.buffer.data()); });
  for (uint64_t id = 0; id < 32; ++id) {
    EXPECT_EQ(a.write(b, id, End::kBytes, IBV_SEND_SIGNALED), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
  }
  stop = true;
  writer.join();
  EXPECT_NE(stats().find("\ndrop_icrc 0\n"), std::string::npos) << stats();
}

}  // namespace
}  // namespace mrc::api
