#include "runtime/array_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/relayout.h"
#include "runtime/file_target.h"
#include "runtime/stored_values.h"

namespace mtfc {
namespace {

constexpr int64_t kBlockElements = 1 << 20;

// An open file that closes itself; failures are kept as the first one's message, which calls it `shown`.
class OutputFile {
 public:
  OutputFile(const std::string& path, int flags, std::string shown)
      : shown_(std::move(shown)), descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail();
  }
  // Standard output.
  OutputFile() : shown_("to standard output"), descriptor_(dup(STDOUT_FILENO)) {}
  ~OutputFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write_at(const std::byte* data, int64_t bytes, int64_t offset) {
    put(data, bytes, [&](const std::byte* at, size_t count) {
      return pwrite(descriptor_, at, count, offset + (at - data));
    });
  }
  void append(const std::byte* data, int64_t bytes) {
    put(data, bytes, [&](const std::byte* at, size_t count) { return ::write(descriptor_, at, count); });
  }
  void sync() {
    if (error_.empty() && fsync(descriptor_) != 0 && errno != EINVAL) fail();
  }
  const std::string& error() const { return error_; }

 private:
  template <typename Write>
  void put(const std::byte* data, int64_t bytes, Write write) {
    while (bytes > 0 && error_.empty()) {
      const ssize_t written = write(data, static_cast<size_t>(bytes));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fail();
      data += written;
      bytes -= written;
    }
  }
  void fail() { error_ = fmt::format("cannot write {}: {}", shown_, std::strerror(errno)); }
  std::string shown_;
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

const std::byte* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

std::string write_part(const std::string& path, const std::string& shown, int64_t start,
                       const LocalPart& part) {
  OutputFile file(path, O_WRONLY, shown);
  const Dims& dims = part.type.dims;
  const int64_t size = size_of(part.type.dtype);
  for (const Run& run : common_runs(dims, part.box, dims, whole(dims)))
    file.write_at(part.data + run.from * size, run.length * size, start + run.to * size);
  file.sync();
  return file.error();
}

std::string create(const std::string& path, const std::string& shown, const std::string& header) {
  OutputFile file(path, O_WRONLY | O_CREAT | O_TRUNC, shown);
  file.write_at(bytes_of(header), static_cast<int64_t>(header.size()), 0);
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

// The parts of the tensor that this process writes.
std::vector<LocalPart> written_parts(const Comm& comm, const Sharding& sharding,
                                     const std::vector<LocalPart>& parts) {
  std::vector<LocalPart> written;
  for (size_t device = 0; device < parts.size(); ++device)
    if (writes(comm.mesh(), comm.devices()[device], sharding)) written.push_back(parts[device]);
  return written;
}

void write_beside(Comm& comm, const std::string& target, const std::string& shown, const std::string& header,
                  const std::vector<LocalPart>& parts) {
  Processes& processes = comm.processes();
  std::string temporary = fmt::format("{}.{}.part", target, getpid());
  processes.broadcast(temporary);  // rank 0's
  agree(processes, processes.speaks() ? create(temporary, shown, header) : "", temporary);

  std::string error;
  for (size_t i = 0; i < parts.size() && error.empty(); ++i)
    error = write_part(temporary, shown, static_cast<int64_t>(header.size()), parts[i]);
  agree(processes, error, temporary);

  if (processes.speaks() && std::rename(temporary.c_str(), target.c_str()) != 0)
    error = fmt::format("cannot write {}: {}", shown, std::strerror(errno));
  agree(processes, error, temporary);
}

// What `parts` hold of the elements [begin, end): position, count and values, one run after the other.
std::string packed_block(const std::vector<std::vector<Run>>& runs, const std::vector<LocalPart>& parts,
                         int64_t begin, int64_t end) {
  std::string block;
  const auto add = [&](const void* data, int64_t bytes) {
    block.append(static_cast<const char*>(data), static_cast<size_t>(bytes));
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t size = size_of(parts[i].type.dtype);
    auto run = std::partition_point(runs[i].begin(), runs[i].end(),
                                    [&](const Run& earlier) { return earlier.to + earlier.length <= begin; });
    for (; run != runs[i].end() && run->to < end; ++run) {
      const int64_t first = std::max(run->to, begin), last = std::min(run->to + run->length, end);
      const int64_t place[2] = {first - begin, last - first};
      add(place, sizeof place);
      add(parts[i].data + (run->from + first - run->to) * size, (last - first) * size);
    }
  }
  return block;
}

void unpack_block(const std::string& packed, int64_t size, std::vector<std::byte>& block) {
  for (size_t at = 0; at < packed.size();) {
    int64_t place[2];
    std::memcpy(place, packed.data() + at, sizeof place);
    at += sizeof place;
    const auto bytes = static_cast<size_t>(place[1] * size);
    std::memcpy(block.data() + place[0] * size, packed.data() + at, bytes);
    at += bytes;
  }
}

// What can't be replaced may take bytes in order only, as a pipe does: the other ranks hand theirs to the
// first, a block at a time.
void write_in_order(Comm& comm, const std::string& path, const std::string& shown, const std::string& header,
                    const TensorType& type, const std::vector<LocalPart>& parts) {
  Processes& processes = comm.processes();
  std::vector<std::vector<Run>> runs;
  for (const LocalPart& part : parts)
    runs.push_back(common_runs(type.dims, part.box, type.dims, whole(type.dims)));
  std::unique_ptr<OutputFile> file;
  if (processes.speaks()) {
    file = path == "-" ? std::make_unique<OutputFile>() : std::make_unique<OutputFile>(path, O_WRONLY, shown);
    file->append(bytes_of(header), static_cast<int64_t>(header.size()));
  }
  processes.require_success(file ? file->error() : "");
  const int64_t size = size_of(type.dtype), count = elements(type.dims);
  for (int64_t begin = 0; begin < count; begin += kBlockElements) {
    const int64_t end = std::min(begin + kBlockElements, count);
    const std::vector<std::string> packed = processes.gather(packed_block(runs, parts, begin, end));
    if (file) {
      std::vector<std::byte> block(static_cast<size_t>((end - begin) * size));
      for (const std::string& part : packed) unpack_block(part, size, block);
      file->append(block.data(), static_cast<int64_t>(block.size()));
    }
    processes.require_success(file ? file->error() : "");
  }
}

}  // namespace

void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalPart>& parts) {
  check_invariant(sharding.partial.empty(), "a partial value is not written");
  Processes& processes = comm.processes();
  const std::vector<LocalPart> written = written_parts(comm, sharding, parts);
  // Rank 0 looks: its files are what the user sees.
  FileTarget target;
  if (processes.speaks() && path != "-") target = file_target(path);
  std::string known = fmt::format("{}{}", target.replaced ? 'r' : 'w', target.path);
  processes.broadcast(known);
  const std::string shown = path == "-" ? "to standard output" : fmt::format("'{}'", path);
  if (known[0] == 'r')
    write_beside(comm, known.substr(1), shown, header, written);
  else
    write_in_order(comm, path, shown, header, parts.front().type, written);
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
