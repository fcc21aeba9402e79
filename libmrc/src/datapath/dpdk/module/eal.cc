#include "datapath/dpdk/module/eal.h"

#include <absl/strings/str_split.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "append_item.h"
#include "mutex.h"

namespace mrc::datapath {

namespace {

bool chooses_processors(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.rfind("-c", 0) == 0 || word.rfind("-l", 0) == 0 || word.rfind("--lcores", 0) == 0;
  });
}

// "0@(0,1,5)": logical core 0 on all processors that this process may use.
std::string one_core_anywhere() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::string list;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) append_item(&list, std::to_string(cpu), ",");
  return "0@(" + (list.empty() ? "0" : list) + ")";
}

int init(const std::string& arguments) {
  std::vector<std::string> words = absl::StrSplit(arguments, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  words.insert(words.begin(), "mrc");
  if (!chooses_processors(words)) {
    words.emplace_back("--lcores");
    words.push_back(one_core_anywhere());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const int count = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  // On a thread of its own: DPDK binds the thread that starts it to a processor permanently.
  int rc = -1;
  int why = 0;
  std::thread([&] {
    rc = rte_eal_init(count, argv.data());
    why = rte_errno;
  }).join();
  if (rc < 0 && why == EALREADY) return 0;  // the program uses DPDK itself
  return rc >= 0 ? 0 : why != 0 ? why : EINVAL;
}

}  // namespace

Status start_eal(const std::string& arguments) {
  static Mutex mutex;
  static bool tried ABSL_GUARDED_BY(mutex) = false;
  static int result ABSL_GUARDED_BY(mutex) = 0;
  static std::string first ABSL_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  if (!tried) {
    tried = true;
    first = arguments;
    result = init(arguments);
  } else if (arguments != first) {
    return Error{
        EBUSY, "DPDK runs in this process already, with the arguments '" + first + "' instead of '" + arguments + "'"};
  }
  if (result == 0) return {};
  return Error{result, "DPDK does not start with the arguments '" + first + "': " + rte_strerror(result) +
                           " (its own words are on stderr; the setting dpdk_eal has the arguments)"};
}

}  // namespace mrc::datapath
