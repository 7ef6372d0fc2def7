#include "cmd/published/exported_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "cmd/files/files.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/progress.h"
#include "runtime/data/stored_values.h"

namespace mtfc {
namespace {

constexpr int64_t kPieceElements = int64_t{1} << 20;

StoredType file_type(ExportType type) {
  switch (type) {
    case ExportType::kF32:
    case ExportType::kQ8:
      return StoredType::kF32;
    case ExportType::kF16:
      return StoredType::kF16;
    case ExportType::kBF16:
      return StoredType::kBF16;
    case ExportType::kF64:
      return StoredType::kF64;
  }
  throw InternalError("there is no such type of exported weights");
}

// The scale of a block is its largest value / 127.
std::string q8_blocks(const std::string& floats) {
  const auto count = static_cast<int64_t>(floats.size() / sizeof(float));
  std::string blocks;
  float values[kQ8Block];
  for (int64_t at = 0; at < count; at += kQ8Block) {
    std::memcpy(values, floats.data() + at * static_cast<int64_t>(sizeof(float)), sizeof values);
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    const float scale = largest / 127;
    const auto half = static_cast<_Float16>(scale);
    blocks.append(reinterpret_cast<const char*>(&half), sizeof half);
    for (const float value : values)
      blocks += static_cast<char>(static_cast<int8_t>(scale > 0 ? std::round(value / scale) : 0));
  }
  return blocks;
}

std::string elements_of(const StoredArray& array, const Interval& range, ExportType type) {
  const StoredType stored = file_type(type);
  std::string bytes(static_cast<size_t>(range.size() * size_of(stored)), '\0');
  copy_stored(array, range, stored, reinterpret_cast<std::byte*>(bytes.data()));
  return type == ExportType::kQ8 ? q8_blocks(bytes) : bytes;
}

// Calls `visit` with the ranges of a tensor's elements in the order in which the file has them.
void visit_ranges(const ExportedPart& part, const std::function<void(const Interval&)>& visit) {
  const int64_t count = element_count(part.tensor.shape);
  if (!part.pairs_halves) {
    for (int64_t at = 0; at < count; at += kPieceElements) visit({at, std::min(count, at + kPieceElements)});
    return;
  }
  const int64_t rows = part.tensor.shape.front(), columns = rows > 0 ? count / rows : 0,
                half = part.head_rows / 2;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t place = row % part.head_rows, from = row - place + place / 2 + place % 2 * half;
    visit({from * columns, (from + 1) * columns});
  }
}

// Values that several tensors need, until the last of them.
class KeptValues {
 public:
  KeptValues(const std::vector<ExportedFile>& files, const VariableReader& values) : values_(values) {
    for (const ExportedFile& file : files)
      for (const ExportedPart& part : file.parts)
        for (const std::string& variable : part.tensor.placement.variables) ++uses_[variable];
  }

  StoredArray take(const std::string& variable) {
    auto found = kept_.find(variable);
    if (found == kept_.end()) found = kept_.emplace(variable, values_(variable)).first;
    StoredArray array = found->second;
    if (--uses_[variable] == 0) kept_.erase(found);
    return array;
  }

 private:
  const VariableReader& values_;
  std::map<std::string, size_t> uses_;  // that are still to come
  std::map<std::string, StoredArray> kept_;
};

}  // namespace

int64_t exported_bytes(ExportType type, int64_t elements) {
  if (type == ExportType::kQ8) return elements / kQ8Block * (kQ8Block + 2);
  return elements * size_of(file_type(type));
}

int64_t ExportedFile::bytes() const {
  int64_t sum = 0;
  for (const ExportedPart& part : parts)
    sum += part.padding + (part.tensor.placement.variables.empty()
                               ? static_cast<int64_t>(part.bytes.size())
                               : exported_bytes(part.type, element_count(part.tensor.shape)));
  return sum;
}

void write_files(const std::vector<ExportedFile>& files, const VariableTypes& types,
                 const VariableReader& values) {
  KeptValues kept(files, values);
  int64_t done = 0, all = 0;
  for (const ExportedFile& file : files) all += file.bytes();
  for (const ExportedFile& file : files)
    write_pieces(file.path, [&](const TextSink& sink) {
      const auto put = [&](const std::string& bytes) {
        sink(bytes);
        done += static_cast<int64_t>(bytes.size());
        tell_progress({"exporting", done >> 20, all >> 20, "MiB"});
      };
      sink(file.header);
      for (const ExportedPart& part : file.parts) {
        if (part.tensor.placement.variables.empty()) {
          put(part.bytes);
        } else {
          const StoredArray array =
              tensor_of(part.tensor, types, [&](const std::string& variable) { return kept.take(variable); });
          visit_ranges(part, [&](const Interval& range) { put(elements_of(array, range, part.type)); });
        }
        if (part.padding > 0) put(std::string(static_cast<size_t>(part.padding), '\0'));
      }
    });
}

}  // namespace mtfc
