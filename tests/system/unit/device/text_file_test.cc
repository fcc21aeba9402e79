#include "text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace mrc {
namespace {

class TextFile : public ::testing::Test {
 protected:
  TextFile() {
    char name[] = "/tmp/mrc_text_file_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~TextFile() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& content) {
    std::ofstream(folder_ + "/file") << content;
    return folder_ + "/file";
  }
  // The errno value; 0: it was read.
  int read(const std::string& path, size_t max = kMaxTextFile) {
    const Result<std::string> text = read_text_file(path, max);
    text_ = text ? *text : "";
    why_ = text ? "" : text.error().text;
    return text ? 0 : text.error().code;
  }

  std::string folder_, text_, why_;
};

TEST_F(TextFile, read__returns_everything) {
  const std::string content = std::string(100000, 'x') + "\nend";
  EXPECT_EQ(read(file(content)), 0);
  EXPECT_EQ(text_, content);
  EXPECT_EQ(read("/proc/self/status"), 0);  // its size is 0
  EXPECT_NE(text_.find("Pid:"), std::string::npos);
}

TEST_F(TextFile, read__refuses_what_is_no_regular_file) {
  EXPECT_EQ(read(folder_), EISDIR);
  EXPECT_EQ(why_, "it is a folder; name a file");
  EXPECT_EQ(read("/dev/zero"), EINVAL);
  EXPECT_EQ(why_, "it is neither a regular file nor a pipe; name one");
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read(fifo), EINVAL);  // without waiting for a writer
}

// "mrcctl profile create <(generate)", MRC_CONFIG=/dev/null.
TEST_F(TextFile, read__takes_pipes_and_the_null_device) {
  EXPECT_EQ(read("/dev/null"), 0);
  EXPECT_EQ(text_, "");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(::write(ends[1], "line\n", 5), 5);
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(read("/dev/fd/" + std::to_string(ends[0])), 0) << why_;
  writer.join();
  ::close(ends[0]);
  EXPECT_EQ(text_, "line\nline\nline\n");
}

TEST_F(TextFile, read__reports_errors_of_the_system) {
  EXPECT_EQ(read(folder_ + "/none"), ENOENT);
  EXPECT_EQ(why_, "No such file or directory");
  EXPECT_EQ(read("/proc/self/mem"), EIO);  // the address 0
}

TEST_F(TextFile, read__limits_the_size) {
  const std::string path = file("12345678");
  EXPECT_EQ(read(path, 8), 0);
  EXPECT_EQ(text_, "12345678");
  EXPECT_EQ(read(path, 7), EFBIG);
  EXPECT_EQ(read("/proc/self/status", 7), EFBIG);
  std::filesystem::resize_file(path, kMaxTextFile);
  EXPECT_EQ(read(path), 0);
  std::filesystem::resize_file(path, kMaxTextFile + 1);
  EXPECT_EQ(read(path), EFBIG);
  EXPECT_EQ(why_, "it is larger than 16 MiB, the most that is read; shorten it");
}

}  // namespace
}  // namespace mrc
