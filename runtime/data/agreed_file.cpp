#include "runtime/data/agreed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/diagnostics/error.h"
#include "runtime/data/file_target.h"

namespace mtfc {
namespace {

// The name of a file in messages.
std::string shown_name(const std::string& path) {
  return path == "-" ? "to standard output" : fmt::format("'{}'", path);
}

std::string create(const std::string& path, const std::string& shown, const std::string& header) {
  OutputFile file(path, kNewFile, shown);
  file.write_at(header, 0);
  file.sync();
  return file.error();
}

}  // namespace

AgreedFile::AgreedFile(Processes& processes, std::string path, const std::string& header)
    : processes_(processes), path_(std::move(path)), length_(static_cast<int64_t>(header.size())) {
  // Rank 0 looks: the user sees its files.
  FileTarget target;
  if (processes_.is_root() && path_ != "-") target = file_target(path_);
  if (target.replaced) temporary_ = temporary_name(target.path);
  processes_.broadcast(temporary_);
  target_ = target.path;
  std::string error;
  if (processes_.is_root()) {
    if (target.reason != 0) {
      error = fmt::format("cannot write {}: {}", shown(), std::strerror(target.reason));
    } else if (!temporary_.empty()) {
      error = create(temporary_, shown(), header);
    } else {
      file_ = path_ == "-" ? std::make_unique<OutputFile>()
                           : std::make_unique<OutputFile>(path_, O_WRONLY, shown());
      file_->append(reinterpret_cast<const std::byte*>(header.data()), length_);
      error = file_->error();
    }
  }
  agree(error);
}

AgreedFile::~AgreedFile() {
  if (processes_.is_root() && !temporary_.empty()) unlink(temporary_.c_str());
}

std::string AgreedFile::shown() const {
  return shown_name(path_);
}

OutputFile& AgreedFile::file() {
  check_invariant(!is_in_order(), "a pipe is not written at offsets");
  if (!file_) file_ = std::make_unique<OutputFile>(temporary_, O_WRONLY | O_NOFOLLOW, shown());
  return *file_;
}

void AgreedFile::append(const std::byte* data, int64_t bytes) {
  check_invariant(processes_.is_root(), "only the first rank appends to a file");
  if (is_in_order())
    file_->append(data, bytes);
  else
    file().write_at(data, bytes, length_);
  length_ += bytes;
}

void AgreedFile::agree() {
  agree(file_ ? file_->error() : "");
}

// Either all ranks go on, or all throw the error of one of them and the temporary file is removed.
void AgreedFile::agree(const std::string& error) {
  try {
    processes_.require_success(error);
  } catch (const RunError&) {
    if (processes_.is_root() && !temporary_.empty()) unlink(temporary_.c_str());
    throw;
  }
}

void AgreedFile::finish() {
  if (is_in_order()) return;
  if (file_) file_->sync();
  agree();
  std::string error;
  if (processes_.is_root() && std::rename(temporary_.c_str(), target_.c_str()) != 0)
    error = fmt::format("cannot write {}: {}", shown(), std::strerror(errno));
  agree(error);
  temporary_.clear();
}

}  // namespace mtfc
