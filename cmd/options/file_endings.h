#pragma once
// The endings of the names of files that commands write. A file is what its name says, or it is refused before any
// work is done; a name without an ending says nothing.
//
//   kinds = {"-o", "a cost report", {{"json", "json"}, {"txt", "table"}}}
//   format_of_file(kinds, "r.txt")   "table"
//   format_of_file(kinds, "r")       ""
//   format_of_file(kinds, "r.pdf")   UserError: -o: 'r.pdf' ends in .pdf, but a cost report is written as .json or .txt

#include <string>
#include <utility>
#include <vector>

namespace mtfc {

struct FileKinds {
  std::string option;  // that names the file
  std::string what;    // is in it, as in "a cost report"
  /// By ending, in small letters and without the dot.
  std::vector<std::pair<std::string, std::string>> formats;
};

/// The format that the name of the file stands for; "" if the name has no ending, and for `-`, devices and pipes.
/// Throws UserError for any other ending. If the user has `chosen` a format, every ending is accepted but that of
/// another one of `kinds`.
std::string format_of_file(const FileKinds& kinds, const std::string& path, const std::string& chosen = "");

/// The format in which a command writes `path`: the one that the user has `chosen`; otherwise that of the file's name;
/// otherwise `on_screen` for standard output (`-`), which people read, and JSON for files, which programs read.
std::string output_format(const FileKinds& kinds, const std::string& path, const std::string& chosen,
                          const std::string& on_screen);

/// Throws UserError if the name of the file ends in something else than one of `endings`, like format_of_file().
void require_ending(const std::string& option, const std::string& what, const std::string& path,
                    const std::vector<std::string>& endings);

}  // namespace mtfc
