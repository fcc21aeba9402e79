#include "cuda/elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace mrc::nccl_rig {

namespace {

template <typename T>
const T* at(const unsigned char* bytes, uint64_t offset) {
  return reinterpret_cast<const T*>(bytes + offset);
}

}  // namespace

ElfImage::ElfImage(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(path + ": " + strerror(errno));
  struct stat status {};
  fstat(fd, &status);
  size_ = static_cast<size_t>(status.st_size);
  void* mapped = size_ < sizeof(Elf64_Ehdr) ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) throw std::runtime_error(path + ": not a library");
  bytes_ = static_cast<const unsigned char*>(mapped);
  if (memcmp(bytes_, ELFMAG, SELFMAG) != 0 || bytes_[EI_CLASS] != ELFCLASS64) {
    munmap(mapped, size_);
    throw std::runtime_error(path + ": not a 64-bit ELF file");
  }
}

ElfImage::~ElfImage() {
  munmap(const_cast<unsigned char*>(bytes_), size_);
}

std::string ElfImage::build_id() const {
  const auto* header = at<Elf64_Ehdr>(bytes_, 0);
  for (int i = 0; i < header->e_phnum; ++i) {
    const auto* segment = at<Elf64_Phdr>(bytes_, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment->p_type != PT_NOTE) continue;
    const auto* note = at<Elf64_Nhdr>(bytes_, segment->p_offset);
    if (note->n_type != NT_GNU_BUILD_ID) continue;
    const unsigned char* id = bytes_ + segment->p_offset + sizeof(Elf64_Nhdr) + ((note->n_namesz + 3) & ~3u);
    std::string text;
    for (uint32_t k = 0; k < note->n_descsz; ++k) {
      char digits[3];
      snprintf(digits, sizeof digits, "%02x", id[k]);
      text += digits;
    }
    return text;
  }
  return "";
}

void ElfImage::each_symbol(const std::function<void(const ElfSymbol&)>& visit) const {
  const auto* header = at<Elf64_Ehdr>(bytes_, 0);
  const auto* sections = at<Elf64_Shdr>(bytes_, header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = at<char>(bytes_, sections[sections[i].sh_link].sh_offset);
    const auto* symbol = at<Elf64_Sym>(bytes_, sections[i].sh_offset);
    for (uint64_t n = sections[i].sh_size / sizeof *symbol; n > 0; --n, ++symbol)
      if (symbol->st_value != 0 && ELF64_ST_TYPE(symbol->st_info) != STT_TLS)
        visit({names + symbol->st_name, symbol->st_value, symbol->st_size, ELF64_ST_TYPE(symbol->st_info) == STT_FUNC});
  }
}

}  // namespace mrc::nccl_rig
