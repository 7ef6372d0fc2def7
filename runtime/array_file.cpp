#include "runtime/array_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "core/relayout.h"
#include "runtime/stored_values.h"

namespace mtfc {
namespace {

// An open file that closes itself; failures are kept as the first one's message.
class OutputFile {
 public:
  OutputFile(const std::string& path, int flags) : path_(path), descriptor_(open(path.c_str(), flags, 0666)) {
    if (descriptor_ < 0) fail("can't open");
  }
  ~OutputFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const std::byte* data, int64_t bytes, int64_t offset) {
    while (bytes > 0 && error_.empty()) {
      const ssize_t written = pwrite(descriptor_, data, static_cast<size_t>(bytes), offset);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fail("can't write");
      data += written;
      bytes -= written;
      offset += written;
    }
  }
  void sync() {
    if (error_.empty() && fsync(descriptor_) != 0 && errno != EINVAL) fail("can't sync");
  }
  const std::string& error() const { return error_; }

 private:
  void fail(const char* what) { error_ = fmt::format("{} '{}': {}", what, path_, std::strerror(errno)); }
  std::string path_;
  int descriptor_;
  std::string error_;
};

Box whole(const Dims& dims) {
  Box box;
  for (const Dim& dim : dims) box.push_back({0, dim.size});
  return box;
}

// Of the devices that hold one region, the first along every other axis writes it.
bool writes(const Mesh& mesh, const Coordinates& at, const Sharding& sharding) {
  const AxisList split = split_axes(sharding);
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (at[axis] != 0 && !std::binary_search(split.begin(), split.end(), static_cast<int>(axis)))
      return false;
  return true;
}

std::string write_part(const std::string& path, int64_t start, const LocalPart& part) {
  OutputFile file(path, O_WRONLY);
  const Dims& dims = part.type.dims;
  const int64_t size = size_of(part.type.dtype);
  for (const Run& run : common_runs(dims, part.box, dims, whole(dims)))
    file.write(part.data + run.from * size, run.length * size, start + run.to * size);
  file.sync();
  return file.error();
}

std::string create(const std::string& path, const std::string& header) {
  OutputFile file(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.write(reinterpret_cast<const std::byte*>(header.data()), static_cast<int64_t>(header.size()), 0);
  file.sync();
  return file.error();
}

// All ranks go on, or all throw what one of them met, and the temporary file is gone.
void agree(Processes& processes, const std::string& error, const std::string& temporary) {
  try {
    processes.require_success(error);
  } catch (const RunError&) {
    if (processes.speaks()) unlink(temporary.c_str());
    throw;
  }
}

}  // namespace

void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalPart>& parts) {
  check_invariant(sharding.partial.empty(), "a partial value is not written");
  Processes& processes = comm.processes();
  std::string temporary = fmt::format("{}.{}.part", path, getpid());
  processes.broadcast(temporary);  // rank 0's
  agree(processes, processes.speaks() ? create(temporary, header) : "", temporary);

  std::string error;
  for (size_t device = 0; device < parts.size() && error.empty(); ++device)
    if (writes(comm.mesh(), comm.devices()[device], sharding))
      error = write_part(temporary, static_cast<int64_t>(header.size()), parts[device]);
  agree(processes, error, temporary);

  if (processes.speaks() && std::rename(temporary.c_str(), path.c_str()) != 0)
    error = fmt::format("can't rename '{}' to '{}': {}", temporary, path, std::strerror(errno));
  agree(processes, error, temporary);
}

void load_array(const StoredArray& array, const std::string& name, const LocalPart& part) {
  const Dims& dims = part.type.dims;
  if (array.shape != shape_of(dims))
    throw RunError(fmt::format("{}: an array of shape {} can't be loaded into '{}' of shape [{}]", array.file,
                               shape_text(array.shape), name, to_string(dims)));
  require_convertible(array, part.type.dtype, 1, "'" + name + "'");
  for (const Run& run : common_runs(dims, whole(dims), dims, part.box))
    copy_stored(array, run.from, run.length, 1, part.type.dtype,
                part.data + run.to * size_of(part.type.dtype));
}

}  // namespace mtfc
