#pragma once
// The bytes of a data file: mapped into memory, or unpacked if the file is compressed by gzip or lies in an archive.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/tensors/data.h"

namespace mtfc {

struct DataFile {
  std::string name;  // in messages
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  FileSample sample;                  // of the file on the disk

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// Opens `path`; contents that begin as gzip does are unpacked, whatever the file is called. Throws UnreadableFile if
/// it can't be opened, and RunError, with its name, for broken data and for data that would fill more than half of the
/// machine's memory.
DataFile open_data_file(const std::string& path);

/// Unpacks deflated data to the `size` bytes that an archive promises. Throws RunError that names the file `name`.
std::shared_ptr<const std::byte[]> inflated(std::span<const std::byte> packed, uint64_t size,
                                            const std::string& name);

/// Throws RunError that names the file and a line of it.
[[noreturn]] void fail_at(const DataFile& file, int64_t line, const std::string& problem);

/// Throws RunError that names the file `name` if so many bytes are more than half of the machine's memory.
void require_memory(uint64_t bytes, const std::string& name);

}  // namespace mtfc
