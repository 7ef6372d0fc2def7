#include "runtime/data/array_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "core/diagnostics/error.h"
#include "core/tensors/relayout.h"
#include "runtime/data/file_target.h"
#include "runtime/data/output_file.h"
#include "runtime/data/stored_values.h"

namespace mtfc {
namespace {

constexpr int64_t kBlockElements = 1 << 20;

constexpr int64_t kMostRuns = 1 << 16;

// Visits a region piece by piece, each with the position of its first element in the region. No piece has
// many runs of consecutive elements: their list must not outgrow the tensor.
void visit_pieces(const Dims& dims, const Box& box, int64_t first,
                  const std::function<void(const Box&, int64_t first)>& visit) {
  size_t inner = box.size();  // the dimensions before it determine the number of runs
  while (inner > 0 && box[inner - 1].size() == dims[inner - 1].size) --inner;
  int64_t runs = 1;
  for (size_t i = 0; i + 1 < inner; ++i) runs *= box[i].size();
  if (runs <= kMostRuns) return visit(box, first);
  size_t outer = 0;
  while (box[outer].size() == 1) ++outer;
  Box half = box;
  const int64_t middle = box[outer].begin + box[outer].size() / 2;
  half[outer].end = middle;
  visit_pieces(dims, half, first, visit);
  first += elements(half);
  half[outer] = {middle, box[outer].end};
  visit_pieces(dims, half, first, visit);
}

// Among the devices that hold one region, the first along every other axis writes it.
bool writes(const Mesh& mesh, const Coordinates& at, const Sharding& sharding) {
  const AxisList split = split_axes(sharding);
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (at[axis] != 0 && !std::binary_search(split.begin(), split.end(), static_cast<int>(axis)))
      return false;
  return true;
}

// Returns whether each dimension of one shape is a product of successive ones of the other, so that both have
// the same row-major elements, with dimensions merged and split.
bool regroups(const std::vector<int64_t>& shape, const Dims& dims) {
  Dims from, to;  // without dimensions of size 1, which may come and go
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size != 1) from.push_back({"", size});
    if (__builtin_mul_overflow(count, size, &count)) return false;
  }
  if (shape == shape_of(dims)) return true;
  for (const Dim& dim : dims)
    if (dim.size != 1) to.push_back(dim);
  if (count != elements(dims) || count == 0) return false;
  for (const ReshapeGroup& group : reshape_groups(from, to))
    if (group.from_end - group.from_begin > 1 && group.to_end - group.to_begin > 1) return false;
  return true;
}

const std::byte* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::byte*>(text.data());
}

std::string write_shard(const std::string& path, const std::string& shown, int64_t start,
                        const LocalShard& shard) {
  OutputFile file(path, O_WRONLY, shown);
  write_slice(file, start, shard);
  file.sync();
  return file.error();
}

std::string create(const std::string& path, const std::string& shown, const std::string& header) {
  OutputFile file(path, O_WRONLY | O_CREAT | O_TRUNC, shown);
  file.write_at(header, 0);
  file.sync();
  return file.error();
}

// Either all ranks go on, or all throw the error of one of them and the temporary file is removed.
void agree(Processes& processes, const std::string& error, const std::string& temporary) {
  try {
    processes.require_success(error);
  } catch (const RunError&) {
    if (processes.speaks()) unlink(temporary.c_str());
    throw;
  }
}

void write_beside(Comm& comm, const std::string& target, const std::string& shown, const std::string& header,
                  const std::vector<LocalShard>& shards) {
  Processes& processes = comm.processes();
  std::string temporary = fmt::format("{}.{}.part", target, getpid());
  processes.broadcast(temporary);  // rank 0's
  agree(processes, processes.speaks() ? create(temporary, shown, header) : "", temporary);

  std::string error;
  for (size_t i = 0; i < shards.size() && error.empty(); ++i)
    error = write_shard(temporary, shown, static_cast<int64_t>(header.size()), shards[i]);
  agree(processes, error, temporary);

  if (processes.speaks() && std::rename(temporary.c_str(), target.c_str()) != 0)
    error = fmt::format("cannot write {}: {}", shown, std::strerror(errno));
  agree(processes, error, temporary);
}

// Packs the elements [begin, end) that `shards` hold: position, count and values, one run after another.
std::string packed_block(const std::vector<std::vector<Run>>& runs, const std::vector<LocalShard>& shards,
                         int64_t begin, int64_t end) {
  std::string block;
  const auto add = [&](const void* data, int64_t bytes) {
    block.append(static_cast<const char*>(data), static_cast<size_t>(bytes));
  };
  for (size_t i = 0; i < shards.size(); ++i) {
    const int64_t size = size_of(shards[i].type.dtype);
    auto run = std::partition_point(runs[i].begin(), runs[i].end(),
                                    [&](const Run& earlier) { return earlier.to + earlier.length <= begin; });
    for (; run != runs[i].end() && run->to < end; ++run) {
      const int64_t first = std::max(run->to, begin), last = std::min(run->to + run->length, end);
      const int64_t place[2] = {first - begin, last - first};
      add(place, sizeof place);
      add(shards[i].data + (run->from + first - run->to) * size, (last - first) * size);
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

// The name of a file in messages.
std::string shown_name(const std::string& path) {
  return path == "-" ? "to standard output" : fmt::format("'{}'", path);
}

// A file that can't be replaced, such as a pipe, may take bytes in order only: the other ranks hand theirs to the
// first, a block at a time.
void write_in_order(Comm& comm, const std::string& path, const std::string& header, const TensorType& type,
                    const std::vector<LocalShard>& shards) {
  Processes& processes = comm.processes();
  std::vector<std::vector<Run>> runs;
  for (const LocalShard& shard : shards)
    runs.push_back(common_runs(type.dims, shard.box, type.dims, whole_box(type.dims)));
  std::unique_ptr<OutputFile> file;
  if (processes.speaks()) {
    file = path == "-" ? std::make_unique<OutputFile>()
                       : std::make_unique<OutputFile>(path, O_WRONLY, shown_name(path));
    file->append(bytes_of(header), static_cast<int64_t>(header.size()));
  }
  processes.require_success(file ? file->error() : "");
  const int64_t size = size_of(type.dtype), count = elements(type.dims);
  for (int64_t begin = 0; begin < count; begin += kBlockElements) {
    const int64_t end = std::min(begin + kBlockElements, count);
    const std::vector<std::string> packed = processes.gather(packed_block(runs, shards, begin, end));
    if (file) {
      std::vector<std::byte> block(static_cast<size_t>((end - begin) * size));
      for (const std::string& part : packed) unpack_block(part, size, block);
      file->append(block.data(), static_cast<int64_t>(block.size()));
    }
    processes.require_success(file ? file->error() : "");
  }
}

}  // namespace

std::vector<LocalShard> written_shards(const Comm& comm, const Sharding& sharding,
                                       const std::vector<LocalShard>& shards) {
  std::vector<LocalShard> written;
  for (size_t device = 0; device < shards.size(); ++device)
    if (writes(comm.mesh(), comm.devices()[device], sharding)) written.push_back(shards[device]);
  return written;
}

void write_slice(OutputFile& file, int64_t start, const LocalShard& shard) {
  const Dims& dims = shard.type.dims;
  const int64_t size = size_of(shard.type.dtype);
  visit_pieces(dims, shard.box, 0, [&](const Box& piece, int64_t first) {
    for (const Run& run : common_runs(dims, piece, dims, whole_box(dims)))
      file.write_at(shard.data + (first + run.from) * size, run.length * size, start + run.to * size);
  });
}

void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalShard>& shards) {
  check_invariant(sharding.partial.empty(), "a partial value is not written");
  Processes& processes = comm.processes();
  const std::vector<LocalShard> written = written_shards(comm, sharding, shards);
  // Rank 0 looks: the user sees its files.
  FileTarget target;
  if (processes.speaks() && path != "-") target = file_target(path);
  std::string known = fmt::format("{}{}", target.replaced ? 'r' : 'w', target.path);
  processes.broadcast(known);
  if (known[0] == 'r')
    write_beside(comm, known.substr(1), shown_name(path), header, written);
  else
    write_in_order(comm, path, header, shards.front().type, written);
}

void require_loadable(const StoredArray& array, const std::string& name, const TensorType& type) {
  if (!regroups(array.shape, type.dims))
    throw RunError(fmt::format("{}: an array of shape {} can't be loaded into '{}' of shape [{}]", array.file,
                               shape_text(array.shape), name, to_string(type.dims)));
  require_convertible(array, type.dtype, 1, "'" + name + "'");
}

void load_array(const StoredArray& array, const std::string& name, const LocalShard& shard) {
  require_loadable(array, name, shard.type);
  const Dims& dims = shard.type.dims;
  const int64_t size = size_of(shard.type.dtype);
  visit_pieces(dims, shard.box, 0, [&](const Box& piece, int64_t first) {
    for (const Run& run : common_runs(dims, whole_box(dims), dims, piece))
      copy_stored(array, {run.from, run.from + run.length}, 1, shard.type.dtype,
                  shard.data + (first + run.to) * size);
  });
}

}  // namespace mtfc
