#pragma once
// The files of an export: some bytes, and then tensors, one after another.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cmd/published/placed_tensors.h"
#include "core/diagnostics/enum_names.h"
#include "core/tensors/data.h"
#include "formats/data/published_shapes.h"

namespace mtfc {

enum class ExportType { kF32, kF16, kBF16, kF64, kQ8 };
template <>
inline constexpr auto kEnumNames<ExportType> =
    std::to_array<EnumName<ExportType>>({{ExportType::kF32, "f32"},
                                         {ExportType::kF16, "f16"},
                                         {ExportType::kBF16, "bf16"},
                                         {ExportType::kF64, "f64"},
                                         {ExportType::kQ8, "q8_0"}});

/// The bytes of so many elements; for q8_0 a multiple of kQ8Block.
int64_t exported_bytes(ExportType type, int64_t elements);

/// Elements of a q8_0 tensor that share a scale: q · scale, with an f16 scale and i8 values.
inline constexpr int64_t kQ8Block = 32;

struct ExportedPart {
  PublishedTensor tensor;
  ExportType type = ExportType::kF32;
  bool pairs_halves = false;  // rows of each head come in the order 0, n/2, 1, n/2+1, … of its n rows
  int64_t head_rows = 0;      // n
  std::string bytes = {};     // if there is no variable: the contents
  int64_t padding = 0;        // zeros behind it
};

struct ExportedFile {
  std::string path;
  std::string header;
  std::vector<ExportedPart> parts;
  int64_t bytes() const;  // of all parts
};

/// The values of variables, each of which is asked for once unless the tensors that need it are far apart.
using VariableReader = std::function<StoredArray(const std::string& variable)>;

/// Writes the files, each of which appears complete or not at all. Throws RunError.
void write_files(const std::vector<ExportedFile>& files, const VariableTypes& types,
                 const VariableReader& values);

}  // namespace mtfc
