#pragma once
// A file that all ranks write together, or the first one alone. It appears complete or not at all: it is written under
// another name, synced and renamed; a target that can't be replaced is written directly, by the first rank and in order
// (runtime/data/file_target.h). A failure of one rank is thrown by all.

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/data/output_file.h"
#include "runtime/processes/processes.h"

namespace mtfc {

/// All ranks call every function alike, except where a comment says otherwise. A file that was not finished is removed.
class AgreedFile {
 public:
  /// Begins the file `path`, or standard output for `-`, with `header`. Throws RunError.
  AgreedFile(Processes& processes, std::string path, const std::string& header);
  ~AgreedFile();
  AgreedFile(const AgreedFile&) = delete;
  AgreedFile& operator=(const AgreedFile&) = delete;

  /// The name of the file in messages.
  std::string shown() const;
  /// True if only the first rank may write, and only in order.
  bool is_in_order() const { return temporary_.empty(); }
  /// Returns the file, for a rank that writes at offsets; it must not be is_in_order(). A rank may call it alone.
  OutputFile& file();
  /// Writes what follows the header and the bytes that were appended before. Only the first rank calls it.
  void append(const std::byte* data, int64_t bytes);
  /// Throws RunError on all ranks if one could not write.
  void agree();
  void finish();

 private:
  void agree(const std::string& error);

  Processes& processes_;
  std::string path_;
  int64_t length_;         // of the header and what has been appended
  std::string target_;     // with links followed
  std::string temporary_;  // "" if the target is written directly
  std::unique_ptr<OutputFile> file_;
};

}  // namespace mtfc
