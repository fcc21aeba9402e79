// The state that a running process publishes to its user. Every failure is a sentence without further effect.
#include "device/publisher.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace mrc::device {
namespace {

class PublisherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mrc-publisher-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
    own = folder + "/mrc-" + std::to_string(::geteuid());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static int connected(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return fd;
    const int why_not = errno;
    ::close(fd);
    errno = why_not;
    return -1;
  }
  static std::string all_of(int fd) {
    std::string text;
    char part[512];
    for (ssize_t n; (n = ::read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
    ::close(fd);
    return text;
  }
  bool open(const std::string& below, const std::string& device) {
    const Status opened = publisher.open(below, device);
    if (!opened) why = opened.error().text;
    return opened.has_value();
  }
  std::string folder, own, why;
  Publisher publisher;
};

TEST_F(PublisherTest, answer__every_client_gets_the_text_and_the_end) {
  ASSERT_TRUE(open(folder, "mrc0")) << why;
  EXPECT_EQ(publisher.path(), own + "/" + std::to_string(::getpid()) + ".mrc0");
  publisher.answer([]() -> std::string {
    ADD_FAILURE() << "no reader has asked";
    return "";
  });
  const int a = connected(publisher.path()), b = connected(publisher.path());
  ASSERT_GE(a, 0);
  ASSERT_GE(b, 0);
  std::string text(40000, 'x');
  publisher.answer([&] { return text; });
  EXPECT_EQ(all_of(a), text);
  EXPECT_EQ(all_of(b), text);
}

TEST_F(PublisherTest, answer__a_reader_that_left_does_no_harm) {
  ASSERT_TRUE(open(folder, "mrc0")) << why;
  ::close(connected(publisher.path()));
  publisher.answer([] { return std::string(100000, 'x'); });
}

// A refused reader removes the name as the remains of a crash, and the process would stay invisible permanently.
// While a name is taken away by its process it may refuse: that does no harm.
TEST_F(PublisherTest, open__no_name_refuses_while_its_process_gets_ready) {
  const std::string path = own + "/" + std::to_string(::getpid()) + ".mrc0";
  std::atomic<bool> over = false;
  std::atomic<int> refused = 0, accepted = 0;
  std::atomic<int> closings = 0;  // odd: one is under way
  std::thread reader([&] {
    while (!over) {
      const int before = closings;
      const int fd = connected(path);
      const bool no = fd < 0 && errno == ECONNREFUSED;
      if (no && before % 2 == 0 && closings == before) ++refused;
      if (fd >= 0) ++accepted, ::close(fd);
    }
  });
  bool opened = true;
  for (int i = 0; opened && (i < 2000 || accepted == 0); ++i) {
    opened = open(folder, "mrc0");
    publisher.answer([] { return std::string(); });
    ++closings;
    publisher.close();
    ++closings;
  }
  over = true;
  reader.join();
  ASSERT_TRUE(opened) << why;
  EXPECT_EQ(refused, 0);
}

TEST_F(PublisherTest, close__takes_the_name_away) {
  ASSERT_TRUE(open(folder, "rack/7")) << why;
  const std::string path = publisher.path();
  EXPECT_TRUE(std::filesystem::exists(path));
  publisher.close();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(publisher.fd(), -1);
}

TEST_F(PublisherTest, open__a_file_left_by_a_crash_is_replaced) {
  ASSERT_EQ(::mkdir(own.c_str(), 0700), 0);
  std::ofstream(own + "/" + std::to_string(::getpid()) + ".mrc0") << "left";
  ASSERT_TRUE(open(folder, "mrc0")) << why;
  const int fd = connected(publisher.path());
  ASSERT_GE(fd, 0);
  publisher.answer([] { return std::string("here"); });
  EXPECT_EQ(all_of(fd), "here");
}

// Any user can make a folder of this name below /tmp first.
TEST_F(PublisherTest, open__a_folder_open_to_others_is_refused) {
  ASSERT_EQ(::mkdir(own.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(own.c_str(), 0750), 0);
  EXPECT_FALSE(open(folder, "mrc0"));
  EXPECT_EQ(why, own + " is not a folder of this user alone");
  ASSERT_EQ(::rmdir(own.c_str()), 0);
  ASSERT_EQ(::symlink("/tmp", own.c_str()), 0);
  EXPECT_FALSE(open(folder, "mrc0"));
}

TEST_F(PublisherTest, open__says_why_not) {
  EXPECT_FALSE(open(folder + "/none", "mrc0"));
  EXPECT_EQ(why, "cannot make " + folder + "/none/mrc-" + std::to_string(::geteuid()) + ": No such file or directory");
  EXPECT_FALSE(open(folder, std::string(120, 'n')));
  EXPECT_NE(why.find("too long"), std::string::npos);
  EXPECT_EQ(publisher.fd(), -1);
}

}  // namespace
}  // namespace mrc::device
