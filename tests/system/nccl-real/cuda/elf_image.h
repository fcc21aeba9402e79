// The symbol table and the build id of an ELF file, the local symbols (.symtab) included. Not for hostile files: only
// for a library that the process has loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mrc::nccl_rig {

struct ElfSymbol {
  std::string_view name;
  uint64_t value;  // address relative to where the file is loaded
  uint64_t size;
  bool function;
};

class ElfImage {
 public:
  // Throws std::runtime_error where the file cannot be read or is not a 64-bit ELF file.
  explicit ElfImage(const std::string& path);
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  // In hexadecimal; empty: the file has none.
  std::string build_id() const;
  // Every symbol of .symtab that has an address in this file.
  void each_symbol(const std::function<void(const ElfSymbol&)>& visit) const;

 private:
  const unsigned char* bytes_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mrc::nccl_rig
