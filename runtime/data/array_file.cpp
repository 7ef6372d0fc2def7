#include "runtime/data/array_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/tensors/relayout.h"
#include "runtime/compute/checksum.h"
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

// Visits the elements of a shard in runs that follow each other in the whole tensor, from `position` on.
void visit_runs(
    const LocalShard& shard,
    const std::function<void(const std::byte* elements, int64_t count, int64_t position)>& visit) {
  const Dims& dims = shard.type.dims;
  visit_pieces(dims, shard.box, 0, [&](const Box& piece, int64_t first) {
    for (const Run& run : common_runs(dims, piece, dims, whole_box(dims)))
      visit(shard.data + (first + run.from) * size_of(shard.type.dtype), run.length, run.to);
  });
}

// Among the devices that hold one region, the first along every other axis writes it.
bool writes(const Mesh& mesh, const Coordinates& at, const Sharding& sharding) {
  const AxisList split = split_axes(sharding);
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if (at[axis] != 0 && !std::binary_search(split.begin(), split.end(), static_cast<int>(axis)))
      return false;
  return true;
}

// The groups of dimensions with equal products in which the two shapes correspond, without those of size 1; none for
// equal shapes. Nothing if the numbers of elements differ.
std::optional<std::vector<ReshapeGroup>> regrouped(const std::vector<int64_t>& shape, const Dims& dims) {
  Dims from, to;  // without dimensions of size 1, which may come and go
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size != 1) from.push_back({"", size});
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  if (shape == shape_of(dims)) return std::vector<ReshapeGroup>();
  for (const Dim& dim : dims)
    if (dim.size != 1) to.push_back(dim);
  if (count != elements(dims) || count == 0) return std::nullopt;
  return reshape_groups(from, to);
}

// Each dimension of the array is a product of successive ones of the tensor.
bool merges(const std::vector<ReshapeGroup>& groups) {
  return std::all_of(groups.begin(), groups.end(),
                     [](const ReshapeGroup& group) { return group.from_end - group.from_begin <= 1; });
}

bool splits(const std::vector<ReshapeGroup>& groups) {
  return std::all_of(groups.begin(), groups.end(),
                     [](const ReshapeGroup& group) { return group.to_end - group.to_begin <= 1; });
}

// An array that merges some dimensions and splits others has as many elements, but most likely another meaning:
// [heads=2, d_kv=16, model=32] is not [model=32, heads=2, d_kv=16].
bool regroups(const std::vector<int64_t>& shape, const Dims& dims) {
  const std::optional<std::vector<ReshapeGroup>> groups = regrouped(shape, dims);
  return groups && (merges(*groups) || splits(*groups));
}

// An order of `dims` in which a file may hold the array; nothing if there is none.
std::optional<Dims> other_order(const std::vector<int64_t>& shape, const Dims& dims) {
  constexpr size_t kMost = 6;
  for (size_t first = 1; first < dims.size(); ++first) {
    Dims turned = dims;
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(first), turned.end());
    // The two halves that changed places must be dimensions of the array, too.
    const int64_t second_half = elements(Dims(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end()));
    int64_t before = 1;
    bool is_cut_there = false;
    for (const int64_t size : shape)
      is_cut_there |= !__builtin_mul_overflow(before, size, &before) && before == second_half;
    const auto groups = is_cut_there ? regrouped(shape, turned) : std::nullopt;
    if (groups && merges(*groups)) return turned;
  }
  if (dims.size() > kMost || shape.size() != dims.size()) return std::nullopt;
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  while (std::next_permutation(order.begin(), order.end())) {
    Dims turned;
    for (const size_t at : order) turned.push_back(dims[at]);
    if (shape_of(turned) == shape) return turned;
  }
  return std::nullopt;
}

// The advice for an array that is the transposed of a tensor with these dimensions; "" for any other array.
std::string transposed_hint(const std::vector<int64_t>& shape, const Dims& dims) {
  const std::optional<Dims> turned = other_order(shape, dims);
  if (!turned) return "";
  std::string names;
  for (const Dim& dim : *turned) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", dim.name);
  return fmt::format(
      " (it fits if it is transposed: give the model's variable the dimensions [{}], which changes "
      "no result, or transpose the array in the file)",
      names);
}

std::vector<OtherSize> other_sizes(const std::vector<int64_t>& shape, const Dims& dims) {
  std::vector<OtherSize> others;
  if (shape.size() != dims.size()) return others;
  for (size_t i = 0; i < dims.size(); ++i)
    if (shape[i] != dims[i].size) others.push_back({dims[i], shape[i]});
  return others;
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

// Hands the elements of a tensor in `range` to rank 0, a block at a time: `take` gets the bytes of each there, and is
// called without any elsewhere.
void gather_blocks(Processes& processes, const std::vector<LocalShard>& shards, const TensorType& type,
                   const Interval& range, const std::function<void(std::span<const std::byte>)>& take) {
  std::vector<std::vector<Run>> runs;
  for (const LocalShard& shard : shards)
    runs.push_back(common_runs(type.dims, shard.box, type.dims, whole_box(type.dims)));
  const int64_t size = size_of(type.dtype);
  for (int64_t begin = range.begin; begin < range.end; begin += kBlockElements) {
    const int64_t end = std::min(begin + kBlockElements, range.end);
    const std::vector<std::string> packed = processes.gather(packed_block(runs, shards, begin, end));
    std::vector<std::byte> block(processes.is_root() ? static_cast<size_t>((end - begin) * size) : 0);
    for (const std::string& part : packed) unpack_block(part, size, block);
    take(block);
  }
}

// Returns whether the elements of `region` follow each other in the whole tensor, and stores where they begin.
bool is_consecutive(const Dims& dims, const Box& region, int64_t& begin) {
  size_t outer = 0;
  while (outer < region.size() && region[outer].size() == 1) ++outer;
  begin = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    begin = begin * dims[i].size + region[i].begin;
    if (i > outer && region[i].size() != dims[i].size) return false;
  }
  return true;
}

}  // namespace

std::string sizes_text(const std::vector<OtherSize>& sizes) {
  std::string text;
  for (const auto& [dim, in_file] : sizes)
    text +=
        fmt::format("{}{} is {} in the file, not {}", text.empty() ? "" : "; ", dim.name, in_file, dim.size);
  return text;
}

ShapeMismatch::ShapeMismatch(const std::string& what_does_not_fit, const std::string& advice,
                             std::vector<OtherSize> other_sizes)
    : RunError(what_does_not_fit + (!advice.empty()        ? advice
                                    : !other_sizes.empty() ? fmt::format(" ({})", sizes_text(other_sizes))
                                                           : "")),
      problem(what_does_not_fit),
      transposed(advice),
      sizes(std::move(other_sizes)) {}

std::vector<LocalShard> written_shards(const Comm& comm, const Sharding& sharding,
                                       const std::vector<LocalShard>& shards) {
  std::vector<LocalShard> written;
  for (size_t device = 0; device < shards.size(); ++device)
    if (writes(comm.mesh(), comm.devices()[device], sharding)) written.push_back(shards[device]);
  return written;
}

void write_slice(OutputFile& file, int64_t start, const LocalShard& shard) {
  const int64_t size = size_of(shard.type.dtype);
  visit_runs(shard, [&](const std::byte* elements, int64_t count, int64_t position) {
    file.write_at(elements, count * size, start + position * size);
  });
}

uint64_t slice_checksum(const LocalShard& shard) {
  uint64_t sum = 0;
  visit_runs(shard, [&](const std::byte* elements, int64_t count, int64_t position) {
    sum += checksum(elements, size_of(shard.type.dtype), count, position);
  });
  return sum;
}

ArrayWriter::ArrayWriter(Comm& comm, std::string path, const std::string& header, TensorType type)
    : comm_(comm),
      type_(std::move(type)),
      start_(static_cast<int64_t>(header.size())),
      file_(comm.processes(), std::move(path), header) {}

void ArrayWriter::add(const Box& region, const Sharding& sharding, const std::vector<LocalShard>& shards) {
  check_invariant(sharding.partial.empty(), "a partial value is not written");
  const std::vector<LocalShard> written = written_shards(comm_, sharding, shards);
  if (file_.is_in_order()) return add_in_order(region, written);
  for (const LocalShard& shard : written) write_slice(file_.file(), start_, shard);
  file_.agree();
}

// A file that can't be replaced, such as a pipe, may take bytes in order only: the other ranks hand theirs to the
// first, a block at a time.
void ArrayWriter::add_in_order(const Box& region, const std::vector<LocalShard>& shards) {
  int64_t first = 0;
  if (!is_consecutive(type_.dims, region, first) || first != written_)
    throw AgreedError(
        fmt::format("cannot write {} batch by batch, because the rows are not along the first "
                    "dimension of [{}] (name a file)",
                    file_.shown(), to_string(type_.dims)));
  const int64_t last = first + elements(region);
  gather_blocks(comm_.processes(), shards, type_, {first, last}, [&](std::span<const std::byte> block) {
    if (!block.empty()) file_.append(block.data(), static_cast<int64_t>(block.size()));
    file_.agree();
  });
  written_ = last;
}

void ArrayWriter::finish() {
  file_.finish();
}

std::vector<std::byte> gathered(Comm& comm, const Sharding& sharding, const std::vector<LocalShard>& shards) {
  check_invariant(sharding.partial.empty(), "a partial value is not gathered");
  const TensorType& type = shards.front().type;
  std::vector<std::byte> bytes;
  gather_blocks(
      comm.processes(), written_shards(comm, sharding, shards), type, {0, elements(type.dims)},
      [&](std::span<const std::byte> block) { bytes.insert(bytes.end(), block.begin(), block.end()); });
  return bytes;
}

void write_array(Comm& comm, const std::string& path, const std::string& header, const Sharding& sharding,
                 const std::vector<LocalShard>& shards) {
  const TensorType& type = shards.front().type;
  ArrayWriter writer(comm, path, header, type);
  writer.add(whole_box(type.dims), sharding, shards);
  writer.finish();
}

void require_loadable(const StoredArray& array, const std::string& name, const TensorType& type) {
  if (!regroups(array.shape, type.dims))
    throw ShapeMismatch(fmt::format("{}: an array of shape {} can't be loaded into '{}' of shape [{}]",
                                    array.file, shape_text(array.shape), name, to_string(type.dims)),
                        transposed_hint(array.shape, type.dims), other_sizes(array.shape, type.dims));
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
