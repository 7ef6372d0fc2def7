#pragma once
// The data that feed a model's inputs: arrays and texts in files, and random sources. formats/ reads their
// descriptions and opens the files; runtime/ takes each batch from them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// The most steps and rows that a run can count. Every JSON reader keeps whole numbers up to here, and sums of a few
/// of them do not overflow.
inline constexpr int64_t kMostCounted = int64_t{1} << 53;

enum class StoredType { kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF32, kF64, kBool, kF16, kBF16, kF8 };
template <>
inline constexpr auto kEnumNames<StoredType> =
    std::to_array<EnumName<StoredType>>({{StoredType::kU8, "u8"},
                                         {StoredType::kI8, "i8"},
                                         {StoredType::kU16, "u16"},
                                         {StoredType::kI16, "i16"},
                                         {StoredType::kU32, "u32"},
                                         {StoredType::kI32, "i32"},
                                         {StoredType::kU64, "u64"},
                                         {StoredType::kI64, "i64"},
                                         {StoredType::kF32, "f32"},
                                         {StoredType::kF64, "f64"},
                                         {StoredType::kBool, "bool"},
                                         {StoredType::kF16, "f16"},
                                         {StoredType::kBF16, "bf16"},
                                         {StoredType::kF8, "f8_e4m3"}});
int64_t size_of(StoredType type);
bool is_float(StoredType type);

/// A file in short, by which two copies are told apart.
struct FileSample {
  std::string path;  // as the user named it
  int64_t bytes = 0;
  uint64_t hash = 0;  // of some of its blocks (formats/data/file_sample.h)
};

struct ArrayPart;
struct BlockScales;

/// A dense row-major array in memory: a mapped file, unpacked data, or several of them that are read as one.
struct StoredArray {
  std::string file;
  StoredType type = StoredType::kF32;
  bool big_endian = false;
  std::vector<int64_t> shape;
  std::shared_ptr<const void> owner;  // keeps `data` alive
  const std::byte* data = nullptr;
  FileSample sample = {};                 // of the whole file; `file` is the array's name in messages
  std::optional<uint64_t> checksum = {};  // given by the file; see runtime/compute/checksum.h
  std::optional<int64_t> ids_below =
      {};  // if the elements are tokens that a tokenizer has made: all are below it
  // Arrays whose elements follow each other: of several files, or of tensors of which a variable
  // consists. `data` is null then.
  std::shared_ptr<const std::vector<ArrayPart>> parts = {};
  std::shared_ptr<const BlockScales> scales = {};  // by which its elements are multiplied; null: by 1
};

/// The scales of a matrix of f8 values, one for each block of kScaledBlock rows and columns.
struct BlockScales {
  StoredArray scales;   // by rows and columns of blocks
  int64_t columns = 1;  // of the matrix
  int64_t first = 0;    // the element of the matrix with which the scaled array begins
};
inline constexpr int64_t kScaledBlock = 128;

/// One of the arrays that are read as one.
struct ArrayPart {
  StoredArray array;
  int64_t begin = 0;  // the elements of the parts before it
};

/// The number of elements of an array of this shape.
int64_t element_count(const std::vector<int64_t>& shape);

/// The type in which a file stores elements of a program.
StoredType stored_type(DType dtype);

/// A tensor stored in a file, row-major and little-endian, from byte `offset` on.
struct TensorPlace {
  std::string name;
  StoredType type;
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t bytes() const;
};

enum class RandomKind { kNormal, kUniform, kInteger };
struct RandomSource {
  RandomKind kind = RandomKind::kNormal;
  double low = 0;  // kUniform and kInteger draw values from [low, high)
  double high = 1;
};

/// Tokens in the order of a text, read in windows of an input's shape. All inputs that read one text start
/// their windows at the same token, each plus its own `shift`: with a shift of 1, targets are the next
/// tokens.
struct TokenSource {
  StoredArray tokens;  // one dimension: the part of the file that is used
  int64_t first = 0;   // where that part begins in the file, in tokens
  int64_t shift = 0;
};

/// The source of an input that marks the rows of a batch: 1 or true for rows that come from the data, 0 or
/// false for rows that fill up the last batch of an evaluation.
struct PresentRows {};

/// The source of one input, as given after `--input NAME=`.
struct InputData {
  std::string input;
  std::string spec;  // the text as given, for messages
  std::variant<StoredArray, RandomSource, TokenSource, PresentRows> source;
  std::optional<std::pair<int64_t, int64_t>> rows;  // only [first, second) of the array's first dimension
  double scale = 1;                                 // values are multiplied by it
};

}  // namespace mtfc
