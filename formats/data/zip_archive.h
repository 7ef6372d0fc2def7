#pragma once
// Zip archives, as NumPy's .npz files are: members that are stored as they are, which are mapped, or deflated.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/data/data_file.h"

namespace mtfc {

struct ZipMember {
  std::string name;
  bool is_deflated = false;
  uint32_t checksum = 0;  // CRC-32
  uint64_t packed = 0;    // bytes in the archive
  uint64_t size = 0;
  uint64_t header = 0;  // where its local header begins
};

class ZipArchive {
 public:
  /// Reads the directory of the archive. Throws UnreadableFile, and RunError with the file's name.
  explicit ZipArchive(const std::string& path);

  const std::vector<ZipMember>& members() const { return members_; }
  /// Returns the bytes of a member, as the file `name`. Throws RunError.
  DataFile open(const ZipMember& member, const std::string& name) const;

 private:
  void read_directory();
  DataFile file_;
  std::vector<ZipMember> members_;
};

}  // namespace mtfc
