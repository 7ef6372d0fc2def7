#include "formats/data/joined_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/diagnostics/error.h"
#include "core/tensors/random_bits.h"

namespace mtfc {
namespace {

int64_t elements_of(const std::vector<int64_t>& shape, size_t from = 0) {
  int64_t count = 1;
  if (std::find(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end(), 0) != shape.end()) return 0;
  for (size_t i = from; i < shape.size(); ++i) count *= shape[i];
  return count;
}

// The type that stands for several in checks: it holds fractions if one of them does.
StoredType common_type(const std::vector<StoredArray>& arrays) {
  const StoredType first = arrays.front().type;
  if (std::all_of(arrays.begin(), arrays.end(), [&](const StoredArray& each) { return each.type == first; }))
    return first;
  return std::any_of(arrays.begin(), arrays.end(),
                     [](const StoredArray& each) { return is_float(each.type); })
             ? StoredType::kF64
             : StoredType::kI64;
}

bool has_same_rows(const StoredArray& one, const StoredArray& other) {
  return one.shape.size() == other.shape.size() && !one.shape.empty() &&
         std::equal(one.shape.begin() + 1, one.shape.end(), other.shape.begin() + 1);
}

// Stands for the samples of all files.
FileSample sample_of_all(const std::vector<StoredArray>& arrays, const std::string& name) {
  FileSample sample{name, 0, 0};
  for (const StoredArray& array : arrays) {
    sample.bytes += array.sample.bytes;
    sample.hash = mixed(sample.hash ^ array.sample.hash ^ hash_bytes(array.sample.path));
  }
  return sample;
}

}  // namespace

std::vector<std::string> files_of_pattern(const std::string& path) {
  std::error_code ignored;
  if (path.find_first_of("*?") == std::string::npos || std::filesystem::exists(path, ignored)) return {path};
  glob_t found = {};
  const int code = glob(path.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; code == 0 && i < found.gl_pathc; ++i)
    if (std::filesystem::is_regular_file(found.gl_pathv[i], ignored)) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (files.empty()) throw RunError(fmt::format("no file has a name like '{}'", path));
  std::sort(files.begin(), files.end());
  return files;
}

StoredArray joined(std::vector<StoredArray> arrays, const std::string& name) {
  if (arrays.size() == 1) return std::move(arrays.front());
  const std::string first_file = arrays.front().file;
  StoredArray whole;
  whole.file = name;
  whole.type = common_type(arrays);
  whole.shape = arrays.front().shape;
  whole.sample = sample_of_all(arrays, name);
  auto parts = std::make_shared<std::vector<ArrayPart>>();
  int64_t rows = 0, begin = 0;
  for (StoredArray& array : arrays) {
    if (!has_same_rows(whole, array))
      throw RunError(fmt::format("{}: its shape [{}] can't follow [{}] of {}", array.file,
                                 fmt::join(array.shape, ", "), fmt::join(whole.shape, ", "), first_file));
    if (__builtin_add_overflow(rows, array.shape[0], &rows))
      throw RunError(name + ": the files have impossibly many rows");
    const int64_t count = elements_of(array.shape);
    if (array.ids_below) whole.ids_below = std::max(whole.ids_below.value_or(0), *array.ids_below);
    // Without elements, a part would begin where the next one does.
    if (count > 0) parts->push_back({std::move(array), begin});
    begin += count;
  }
  whole.shape[0] = rows;
  whole.parts = std::move(parts);
  return whole;
}

StoredArray rows_of(const StoredArray& array, int64_t first, int64_t last) {
  const int64_t row = elements_of(array.shape, 1);
  StoredArray part = array;
  part.shape[0] = last - first;
  if (!array.parts) {
    part.data += first * row * size_of(array.type);
    return part;
  }
  auto parts = std::make_shared<std::vector<ArrayPart>>();
  for (const auto& [held, begin] : *array.parts) {
    const int64_t before = row == 0 ? 0 : begin / row;
    const int64_t from = std::max(first, before), to = std::min(last, before + held.shape[0]);
    if (from < to) parts->push_back({rows_of(held, from - before, to - before), (from - first) * row});
  }
  part.parts = std::move(parts);
  return part;
}

StoredArray contiguous(const StoredArray& array) {
  if (!array.parts) return array;
  StoredArray whole = array;
  whole.parts = nullptr;
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const auto& [held, begin] : *array.parts) {
    if (held.type != array.type || held.big_endian != array.parts->front().array.big_endian)
      throw RunError(
          fmt::format("{}: its elements have another type than those of the other files", held.file));
    bytes->insert(bytes->end(), held.data, held.data + elements_of(held.shape) * size_of(held.type));
    whole.big_endian = held.big_endian;
  }
  whole.data = bytes->data();
  whole.owner = bytes;
  return whole;
}

}  // namespace mtfc
