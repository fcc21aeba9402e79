#include "cuda/library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "cuda/abi.h"
#include "cuda/elf_image.h"
#include "cuda/fatal.h"

namespace mrc::nccl_rig {

namespace {

std::unique_ptr<Library> loaded;

[[noreturn]] void unknown_call(const char* name) {
  fatal("NCCL called %s, which the stand-in for CUDA lacks", name);
}

// mov register, value; 10 bytes
unsigned char* put_move(unsigned char* at, unsigned char second_byte, const void* value) {
  *at++ = 0x48;
  *at++ = second_byte;
  memcpy(at, &value, sizeof value);
  return at + sizeof value;
}
constexpr unsigned char kRax = 0xb8, kRdi = 0xbf;

void put_jump(unsigned char* at, const void* target) {
  at = put_move(at, kRax, target);
  *at++ = 0xff;  // jmp rax
  *at = 0xe0;
}
constexpr uint64_t kJumpSize = 12;

// Small pieces of code that pass their name to unknown_call().
class Thunks {
 public:
  explicit Thunks(size_t count) {
    void* pages = mmap(nullptr, count * kSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::runtime_error("no executable memory");
    next_ = static_cast<unsigned char*>(pages);
  }
  void* add(std::string_view name) {
    unsigned char* code = next_;
    next_ += kSize;
    put_jump(put_move(code, kRdi, strdup(std::string(name).c_str())), reinterpret_cast<const void*>(&unknown_call));
    return code;
  }

 private:
  static constexpr size_t kSize = 32;
  unsigned char* next_;
};

std::unordered_map<std::string_view, void*> stand_ins() {
  std::unordered_map<std::string_view, void*> all;
  for (auto calls : {cuda::device_calls(), cuda::memory_calls(), cuda::stream_calls(), cuda::driver_calls()})
    for (const cuda::Call& c : calls) all[c.name] = c.function;
  return all;
}

// Makes NCCL's code writable; the pages that are written become the process's own.
void unprotect(const char* base) {
  struct Search {
    const char* base;
    bool done;
  } search{base, false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto* s = static_cast<Search*>(argument);
        if (reinterpret_cast<const char*>(info->dlpi_addr) != s->base) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
          const auto begin = (info->dlpi_addr + segment.p_vaddr) & ~uintptr_t{4095};
          const auto end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
          s->done = mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
        }
        return 1;
      },
      &search);
  if (!search.done) throw std::runtime_error("the code of libnccl cannot be made writable");
}

void replace_runtime(const ElfImage& image, char* base, Library* library) {
  auto ours = stand_ins();
  std::unordered_map<std::string_view, uint64_t> theirs;
  image.each_symbol([&](const ElfSymbol& s) {
    if (s.name == "ncclDevFuncRowToId") {
      library->row_to_function = reinterpret_cast<const int*>(base + s.value);
      library->rows = s.size / sizeof(int);
    }
    if (s.function && s.name.size() > 4 && s.name.starts_with("cuda") && s.name[4] >= 'A' && s.name[4] <= 'Z' &&
        s.size >= kJumpSize)
      theirs[s.name] = s.value;
  });
  for (const auto& [name, function] : ours)
    if (!theirs.contains(name)) fatal("libnccl has no %s to replace", std::string(name).c_str());
  if (library->row_to_function == nullptr) fatal("libnccl has no table ncclDevFuncRowToId");
  unprotect(base);
  Thunks thunks(theirs.size());
  for (const auto& [name, value] : theirs) {
    auto found = ours.find(name);
    put_jump(reinterpret_cast<unsigned char*>(base + value), found != ours.end() ? found->second : thunks.add(name));
  }
}

template <typename F>
void look_up(void* handle, const char* name, F** function) {
  *function = reinterpret_cast<F*>(dlsym(handle, name));
  if (*function == nullptr) fatal("libnccl exports no %s", name);
}

void look_up_api(void* handle, NcclApi* api) {
#define MRC_RIG_LOOK_UP(name) look_up(handle, "nccl" #name, &api->name)
  MRC_RIG_LOOK_UP(GetVersion);
  MRC_RIG_LOOK_UP(GetUniqueId);
  MRC_RIG_LOOK_UP(CommInitRankConfig);
  MRC_RIG_LOOK_UP(CommSplit);
  MRC_RIG_LOOK_UP(CommFinalize);
  MRC_RIG_LOOK_UP(CommDestroy);
  MRC_RIG_LOOK_UP(CommAbort);
  MRC_RIG_LOOK_UP(CommGetAsyncError);
  MRC_RIG_LOOK_UP(CommRegister);
  MRC_RIG_LOOK_UP(CommDeregister);
  MRC_RIG_LOOK_UP(GroupStart);
  MRC_RIG_LOOK_UP(GroupEnd);
  MRC_RIG_LOOK_UP(AllReduce);
  MRC_RIG_LOOK_UP(AllGather);
  MRC_RIG_LOOK_UP(ReduceScatter);
  MRC_RIG_LOOK_UP(Broadcast);
  MRC_RIG_LOOK_UP(Reduce);
  MRC_RIG_LOOK_UP(Send);
  MRC_RIG_LOOK_UP(Recv);
  MRC_RIG_LOOK_UP(GetErrorString);
  MRC_RIG_LOOK_UP(GetLastError);
#undef MRC_RIG_LOOK_UP
}

}  // namespace

std::string find_library() {
  if (const char* given = getenv("NCCL_RIG_LIBRARY")) return given;
  for (const char* path : {"/usr/local/cuda/lib/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                           "/usr/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/local/lib/libnccl.so.2"})
    if (access(path, R_OK) == 0) return path;
  throw NoLibrary("no libnccl.so.2 on this machine (NCCL_RIG_LIBRARY names one)");
}

void require_library(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) throw NoLibrary("no file " + path);
  const std::string id = ElfImage(path).build_id();
  if (id != kBuildId)
    throw NoLibrary(path + " is another build (" + id + ") than the NCCL 2.28.9 whose kernels the rig plays (" +
                    kBuildId + ")");
}

const Library& load_library(const std::string& path) {
  require_library(path);
  const ElfImage image(path);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw NoLibrary(std::string("libnccl cannot be loaded: ") + dlerror());
  loaded = std::make_unique<Library>();
  loaded->path = path;
  look_up_api(handle, &loaded->api);
  Dl_info info;
  dladdr(reinterpret_cast<const void*>(loaded->api.GetVersion), &info);
  replace_runtime(image, static_cast<char*>(info.dli_fbase), loaded.get());
  return *loaded;
}

const Library& loaded_library() {
  return *loaded;
}

}  // namespace mrc::nccl_rig
