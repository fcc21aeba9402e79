// The effect of settings and configuration on the plugin: lanes, cutting, several devices, properties. With the newest
// ABI version alone. Each test needs a process of its own, as ctest gives it: libmrc reads its configuration once.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fixture.h"
#include "in_child.h"

namespace mrc::nccl_test {

namespace {

class ConfigTest : public testing::Test {
 protected:
  void TearDown() override {
    if (net_ != nullptr) {
      EXPECT_EQ(net_->finalize(), ncclSuccess);
    }
    for (const std::string& name : names_) unsetenv(name.c_str());
    if (!file_.empty()) unlink(file_.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void configure(const std::string& yaml) {
    char name[] = "/tmp/mrc-nccl-XXXXXX";
    close(mkstemp(name));
    file_ = name;
    std::ofstream(file_) << yaml;
    set("MRC_CONFIG", file_);
  }
  ncclResult_t start(int version = kNewest, int traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEF) {
    clear_log();
    net_ = open_plugin(version);
    const ncclResult_t result = net_->init(log_sink, traffic_class);
    if (result != ncclSuccess) net_.reset();
    return result;
  }
  ncclNetProperties_t properties(int device) {
    ncclNetProperties_t p{};
    EXPECT_EQ(net_->properties(device, &p), ncclSuccess);
    return p;
  }
  // NCCL gives what init has left to finalize, which must not take it for a context.
  static void* context_after_failed_init() {
    void* const library = dlopen(MRC_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const auto* const net = static_cast<const ncclNet_v12_t*>(dlsym(library, "ncclNetPlugin_v12"));
    int of_another = 0;
    void* context = &of_another;
    ncclNetCommConfig_v12_t config{NCCL_NET_TRAFFIC_CLASS_UNDEF};
    EXPECT_EQ(net->init(&context, 1, &config, log_sink, nullptr), ncclSystemError);
    return context;
  }
  // A connection ends in errors on both sides, and the log has the reason.
  void both_ends_refuse(const char* why);
  // Messages of all kinds of sizes, alone and in groups.
  void exchange(int device) {
    Pair pair(*net_, device);
    pair.join();
    if (HasFatalFailure()) return;
    constexpr size_t kMax = 3 << 20;
    Buffer from = pair.buffer(true, pattern(kMax, 1)), to = pair.buffer(false, std::vector<uint8_t>(kMax));
    for (size_t size : {0, 5, 4096, 131071, 131072, 131073, 1 << 20, 3 << 20}) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        std::fill(to.bytes.begin(), to.bytes.end(), 0);
        void* recv = pair.irecv(to, kMax);
        pair.finish(pair.isend(from, size));
        ASSERT_EQ(pair.finish(recv)[0], static_cast<int>(size));
        ASSERT_TRUE(std::equal(from.bytes.begin(), from.bytes.begin() + size, to.bytes.begin())) << size;
      }
    }
    // A group in which some members are cut and some are not.
    Buffer other = pair.buffer(false, std::vector<uint8_t>(kMax));
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::fill(to.bytes.begin(), to.bytes.end(), 0);
      void* recv = pair.irecv({&to, &other}, {kMax, kMax}, {1, 2});
      void* large = pair.isend(from, 2 << 20, 1);
      void* small = pair.isend(from, 999, 2);
      pair.finish(large);
      pair.finish(small);
      EXPECT_EQ(pair.finish(recv, 2), (std::vector<int>{2 << 20, 999}));
      ASSERT_TRUE(std::equal(from.bytes.begin(), from.bytes.begin() + (2 << 20), to.bytes.begin()));
      ASSERT_TRUE(std::equal(from.bytes.begin(), from.bytes.begin() + 999, other.bytes.begin()));
    }
    pair.release(true, from);
    pair.release(false, to);
    pair.release(false, other);
  }

  std::unique_ptr<Net> net_;

 private:
  std::vector<std::string> names_;
  std::string file_;
};

void ConfigTest::both_ends_refuse(const char* why) {
  char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *listen = nullptr, *send = nullptr, *recv = nullptr;
  ASSERT_EQ(net_->listen(0, handle, &listen), ncclSuccess);
  ncclResult_t connecting = ncclSuccess, accepting = ncclSuccess;
  ASSERT_TRUE(eventually([&] {
    if (connecting == ncclSuccess) connecting = net_->connect(0, handle, &send);
    if (accepting == ncclSuccess) accepting = net_->accept(listen, &recv);
    return connecting != ncclSuccess && accepting != ncclSuccess;
  }));
  EXPECT_NE(logged().find(why), std::string::npos);
  EXPECT_EQ(net_->close_listen(listen), ncclSuccess);
}

constexpr char kTwoDevices[] =
    "devices:\n"
    "  - {name: alpha0, line_rate_gbps: 50, base_rtt_us: 20, planes: [{address: 127.0.1.1}, {address: 127.0.1.2}],"
    " peers: {template: \"127.0.1.{plane}\"}}\n"
    "  - {name: beta0, line_rate_gbps: 30, base_rtt_us: 50, planes: [{address: 127.0.2.1}, {address: 127.0.2.2}],"
    " peers: {template: \"127.0.2.{plane}\"}}\n";

TEST_F(ConfigTest, properties_of_the_device_without_configuration) {
  ASSERT_EQ(start(), ncclSuccess);
  int count = 0;
  ASSERT_EQ(net_->devices(&count), ncclSuccess);
  EXPECT_EQ(count, 1);
  const ncclNetProperties_t p = properties(0);
  EXPECT_STREQ(p.name, "mrc0");
  EXPECT_EQ(p.pciPath, nullptr);
  EXPECT_EQ(p.speed, 100000);
  EXPECT_EQ(p.latency, 0);  // measured while it runs
  EXPECT_EQ(p.ptrSupport, NCCL_PTR_HOST);
  EXPECT_EQ(p.regIsGlobal, 1);
  EXPECT_EQ(p.maxRecvs, 8);
  EXPECT_GT(p.maxComms, 1000);
  EXPECT_EQ(p.maxP2pBytes, size_t{64} << 30);
  EXPECT_EQ(p.maxMultiRequestSize, 1);
  EXPECT_EQ(p.netDeviceType, NCCL_NET_DEVICE_HOST);
  EXPECT_EQ(p.vProps.ndevs, 1);
  EXPECT_EQ(p.railId, 0);
  EXPECT_EQ(p.planeId, NCCL_NET_ID_UNDEF);
}

// What NCCL does by itself where devices have no PCI path ends without any device. It heeds a refusal.
TEST_F(ConfigTest, devices_without_a_pci_path_are_not_joined) {
  configure(kTwoDevices);
  ASSERT_EQ(start(), ncclSuccess);
  int both = -1;
  EXPECT_EQ(net_->make_virtual(&both, {0, 1}), ncclInvalidUsage);
  EXPECT_EQ(both, -1);
  EXPECT_NE(logged().find("NCCL_MRC_JOIN_WITHOUT_PCI"), std::string::npos);
}

// NCCL remembers the numbers of virtual devices when its last communicator ends.
TEST_F(ConfigTest, a_virtual_device_outlives_the_last_communicator) {
  configure(kTwoDevices);
  set("NCCL_MRC_JOIN_WITHOUT_PCI", "1");
  ASSERT_EQ(start(), ncclSuccess);
  int both = -1;
  ASSERT_EQ(net_->make_virtual(&both, {0, 1}), ncclSuccess);
  ASSERT_EQ(net_->finalize(), ncclSuccess);
  net_.reset();
  ASSERT_EQ(start(), ncclSuccess);
  EXPECT_STREQ(properties(both).name, "alpha0+beta0");
  exchange(both);
}

TEST_F(ConfigTest, devices_of_a_file_and_a_virtual_one_over_both) {
  configure(kTwoDevices);
  set("NCCL_MRC_JOIN_WITHOUT_PCI", "1");
  ASSERT_EQ(start(), ncclSuccess);
  int count = 0;
  ASSERT_EQ(net_->devices(&count), ncclSuccess);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(properties(0).speed, 50000);
  EXPECT_EQ(properties(0).latency, 10);
  EXPECT_STREQ(properties(1).name, "beta0");
  EXPECT_NE(properties(0).guid, properties(1).guid);
  int both = -1;
  ASSERT_EQ(net_->make_virtual(&both, {0, 1}), ncclSuccess);
  const ncclNetProperties_t p = properties(both);
  EXPECT_STREQ(p.name, "alpha0+beta0");
  EXPECT_EQ(p.speed, 80000);
  EXPECT_EQ(p.vProps.ndevs, 2);
  EXPECT_EQ(p.railId, NCCL_NET_ID_UNDEF);
  int other = -1;
  EXPECT_NE(net_->make_virtual(&other, {0, 0}), ncclSuccess);
  EXPECT_NE(net_->make_virtual(&other, {both, 1}), ncclSuccess);
  EXPECT_NE(net_->make_virtual(&other, {5}), ncclSuccess);
  EXPECT_NE(net_->make_virtual(&other, {}), ncclSuccess);
  for (int device = 0; device <= both; ++device) exchange(device);
}

TEST_F(ConfigTest, a_filter_chooses_devices) {
  configure(kTwoDevices);
  set("NCCL_MRC_HCA", "^alpha");
  ASSERT_EQ(start(), ncclSuccess);
  int count = 0;
  ASSERT_EQ(net_->devices(&count), ncclSuccess);
  ASSERT_EQ(count, 1);
  EXPECT_STREQ(properties(0).name, "beta0");
}

TEST_F(ConfigTest, no_device_is_no_network) {
  set("NCCL_MRC_HCA", "=mlx5_0");
  EXPECT_EQ(start(), ncclSystemError);
  EXPECT_NE(logged().find("NCCL_MRC_HCA==mlx5_0 chooses none of the devices (mrc0)"), std::string::npos);
  EXPECT_EQ(context_after_failed_init(), nullptr);
}

TEST_F(ConfigTest, a_configuration_that_is_wrong_is_no_network_and_says_why) {
  configure("devices: 17\n");
  EXPECT_EQ(start(), ncclSystemError);
  EXPECT_NE(logged().find("configuration was refused"), std::string::npos);
}

TEST_F(ConfigTest, a_plugin_that_cannot_be_used_warns_of_what_nccl_does_then) {
  constexpr const char* kGoesOn = "NCCL goes on over another network";
  set("NCCL_MRC_HCA", "=mlx5_0");
  unsetenv("NCCL_NET");
  EXPECT_EQ(start(), ncclSystemError);
  EXPECT_NE(logged().find(kGoesOn), std::string::npos) << logged();
  set("NCCL_NET", "MRC");
  EXPECT_EQ(start(), ncclSystemError);
  EXPECT_EQ(logged().find(kGoesOn), std::string::npos) << logged();
}

// libmrc writes the reason, the address and the plane, to standard error.
TEST_F(ConfigTest, an_address_of_another_host_is_no_network_and_says_where_the_reason_is) {
  configure("devices:\n  - {name: mrc0, planes: [{address: 192.0.2.77}]}\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(start(), ncclSystemError);
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_NE(logged().find("mrc0 is not used: opening it: "), std::string::npos) << logged();
  EXPECT_NE(logged().find("\"mrc: error\" on standard error"), std::string::npos) << logged();
  EXPECT_NE(written.find("mrc: error: "), std::string::npos) << written;
  EXPECT_NE(written.find("192.0.2.77"), std::string::npos) << written;
}

TEST_F(ConfigTest, a_provider_that_is_none_is_refused) {
  set("MRC_PROVIDER", "libc.so.6");
  EXPECT_EQ(start(), ncclSystemError);
  EXPECT_NE(logged().find("is no MRC library"), std::string::npos);
}

TEST_F(ConfigTest, a_provider_by_path_serves) {
  set("MRC_PROVIDER", MRC_LIBRARY);
  ASSERT_EQ(start(), ncclSuccess);
  EXPECT_NE(logged().find(MRC_LIBRARY), std::string::npos);
  exchange(0);
}

TEST_F(ConfigTest, a_value_out_of_range_is_complained_about_and_not_used) {
  set("NCCL_MRC_TIMEOUT", "25");
  ASSERT_EQ(start(), ncclSuccess);
  EXPECT_NE(logged().find("NCCL_MRC_TIMEOUT=25 is not in 0..24; 14 is used"), std::string::npos);
  exchange(0);
}

TEST_F(ConfigTest, rates_are_accepted_and_a_warning_says_that_nothing_comes_of_them) {
  ASSERT_EQ(start(), ncclSuccess);
  EXPECT_EQ(logged().find("NCCL_MRC_CC"), std::string::npos);
  ASSERT_EQ(net_->finalize(), ncclSuccess);
  net_.reset();
  set("NCCL_MRC_CC_INIT_RATE", "10000");
  set("NCCL_MRC_CC_MAX", "40000");
  ASSERT_EQ(start(), ncclSuccess);
  EXPECT_NE(logged().find("NCCL_MRC_CC_INIT_RATE is not acted on"), std::string::npos);
  EXPECT_NE(logged().find("NCCL_MRC_CC_MAX_RATE is not acted on"), std::string::npos);
  EXPECT_EQ(logged().find("NCCL_MRC_CC_MIN_RATE"), std::string::npos);
  exchange(0);
}

TEST_F(ConfigTest, messages_take_lanes_in_turn) {
  set("NCCL_IB_QPS_PER_CONNECTION", "3");
  ASSERT_EQ(start(), ncclSuccess);
  exchange(0);
}

TEST_F(ConfigTest, large_messages_are_cut_over_lanes) {
  set("NCCL_IB_QPS_PER_CONNECTION", "5");
  set("NCCL_IB_SPLIT_DATA_ON_QPS", "1");
  ASSERT_EQ(start(), ncclSuccess);
  exchange(0);
}

// The number of queue pairs that an engine of this process reports to tools; -1: there is no such engine.
int reported_qps(const std::string& folder, const std::string& engine) {
  const std::string path = folder + "/mrc-" + std::to_string(geteuid()) + "/" + std::to_string(getpid()) + "." + engine;
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string text;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) {
    char part[4096];
    for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  }
  close(fd);
  const std::string name = "\"qps\":";
  const size_t found = text.find(name);
  return found != std::string::npos ? std::atoi(text.c_str() + found + name.size()) : -1;
}

// Over a device of several engines the lanes of a connection are of all of them, and where each has one lane alone, the
// connections are.
TEST_F(ConfigTest, lanes_and_connections_take_the_engines_of_a_device_in_turn) {
  for (const int lanes : {4, 1}) {
    char folder[] = "/tmp/mrc-nccl-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    SCOPED_TRACE("with " + std::to_string(lanes) + " lanes");
    mrc::harness::in_child([&] {  // libmrc reads its configuration once
      set("MRC_SHARDS", "2");
      set("MRC_PUBLISH", folder);
      set("NCCL_MRC_QPS_PER_CONNECTION", std::to_string(lanes));
      ASSERT_EQ(start(), ncclSuccess);
      {
        Pair pair(*net_);
        pair.join();
        EXPECT_EQ(reported_qps(folder, "mrc0"), lanes);
        EXPECT_EQ(reported_qps(folder, "mrc0.shard1"), lanes);
      }
      exchange(0);
    });
    std::filesystem::remove_all(folder);
  }
}

TEST_F(ConfigTest, the_most_lanes_that_can_be_had) {
  set("NCCL_IB_QPS_PER_CONNECTION", "128");
  set("NCCL_IB_SPLIT_DATA_ON_QPS", "1");
  ASSERT_EQ(start(), ncclSuccess);
  exchange(0);
}

TEST_F(ConfigTest, hints_and_traffic_class) {
  set("NCCL_IB_TC", "104");
  ASSERT_EQ(start(), ncclSuccess);
  ASSERT_EQ(net_->set_attributes(17, 2), ncclSuccess);
  exchange(0);
  ASSERT_EQ(net_->set_attributes(-1, -1), ncclSuccess);
  exchange(0);
}

TEST_F(ConfigTest, a_traffic_class_that_means_trimmed_is_refused) {
  set("NCCL_IB_TC", "64");
  ASSERT_EQ(start(), ncclSuccess);
  both_ends_refuse("traffic class 64");
}

// In version 10 NCCL passes it to the connecting side alone. The receiving side, which writes, too, gets it from there.
TEST_F(ConfigTest, the_traffic_class_of_a_connect_is_that_of_both_ends) {
  ASSERT_EQ(start(10, 64), ncclSuccess);
  both_ends_refuse("traffic class 64");
}

TEST_F(ConfigTest, a_traffic_class_above_a_byte_is_refused) {
  for (const int version : kVersions) {
    if (version < 10) continue;  // without a traffic class
    ASSERT_EQ(start(version, 256), ncclSuccess);
    char handle[NCCL_NET_HANDLE_MAXSIZE];
    void *listen = nullptr, *send = nullptr;
    ASSERT_EQ(net_->listen(0, handle, &listen), ncclSuccess);
    EXPECT_EQ(net_->connect(0, handle, &send), ncclInvalidArgument);
    EXPECT_NE(logged().find("Traffic class 256"), std::string::npos);
    EXPECT_EQ(net_->close_listen(listen), ncclSuccess);
    ASSERT_EQ(net_->finalize(), ncclSuccess);
    net_.reset();
  }
}

TEST_F(ConfigTest, packets_of_all_mtus) {
  for (const char* mtu : {"256", "1024"}) {
    set("MRC_MTU", mtu);
    ASSERT_EQ(start(), ncclSuccess);
    exchange(0);
    ASSERT_EQ(net_->finalize(), ncclSuccess);
    net_.reset();
  }
}

TEST_F(ConfigTest, two_communicators_have_contexts_of_their_own) {
  ASSERT_EQ(start(), ncclSuccess);
  auto other = open_plugin(11);
  ASSERT_EQ(other->init(log_sink, 104), ncclSuccess);
  exchange(0);
  ASSERT_EQ(net_->finalize(), ncclSuccess);
  std::swap(net_, other);
  exchange(0);
}

}  // namespace

}  // namespace mrc::nccl_test
