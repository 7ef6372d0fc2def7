#pragma once
// Reads and writes whole small files: models, layouts, reports.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/file_target.h"

namespace mtfc {

/// The contents of `path`, or of standard input for `-`; `path` may be a pipe. `what` names the file in messages:
/// "model". Throws UserError, also for more than 1 GiB in a file and 256 MiB in a pipe.
std::string read_text(const std::string& path, const std::string& what);
/// The same for a file that another file names: it must be a regular file, since nobody may be there to fill a pipe.
std::string read_regular_text(const std::string& path, const std::string& what);

/// Writes to `path`, or to standard output for `-`. A file appears complete or not at all: it is written
/// under another name, synced and renamed; a target that can't be replaced is written directly
/// (runtime/data/file_target.h). Throws RunError with the system's reason, and UserError as require_writable() does.
void write_text(const std::string& path, const std::string& text);
/// The same for a text that `make` passes to its sink piece by piece.
using TextSink = std::function<void(std::string_view)>;
void write_pieces(const std::string& path, const std::function<void(const TextSink&)>& make);

/// Decides how `path` is written. Throws RunError with the system's reason if it must not be, as with a link that
/// another user has laid in a folder of all.
FileTarget usable_target(const std::string& path);

/// Writes all of `bytes` to a descriptor, however many calls it takes. Returns the system's reason if not
/// everything could be written, else 0.
int write_all(int file, std::string_view bytes);

/// Throws RunError with the system's reason if `path` can't be written, without touching it: this is better
/// known before a long run than after it. Throws UserError if the command has read a text from the same file, which
/// would be lost; a text that is read later is refused for the same reason.
void require_writable(const std::string& path);
/// Throws RunError if no file can be made in a folder that may have to be made first; makes nothing.
void require_writable_folder(const std::string& folder);
/// Throws that UserError if `path` is one of the files in `read`, which are read by other means than read_text().
void require_unread(const std::string& path, const std::vector<std::string>& read);
/// Forgets which files have been read and written, because another command begins.
void forget_files();

}  // namespace mtfc
