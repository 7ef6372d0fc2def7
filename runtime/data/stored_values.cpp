#include "runtime/data/stored_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/diagnostics/error.h"
#include "core/tensors/bf16.h"

namespace mtfc {
namespace {

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct Half {
  uint16_t bits;
  explicit operator double() const {
    const int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 0x1F) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(0x400 + fraction, exponent - 25);
  }
};

// f8 E4M3: 4 bits of exponent, 3 of fraction, no infinities (https://arxiv.org/abs/2209.05433).
struct Float8 {
  uint8_t bits;
  explicit operator double() const {
    const int exponent = bits >> 3 & 0xF, fraction = bits & 7;
    const double sign = bits >> 7 ? -1 : 1;
    if (exponent == 0xF && fraction == 7) return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(fraction, -9);
    return sign * std::ldexp(8 + fraction, exponent - 10);
  }
};

template <typename Stored>
Stored load_one(const std::byte* from, bool swap) {
  std::byte bytes[sizeof(Stored)];
  std::memcpy(bytes, from, sizeof bytes);
  if (swap) std::reverse(bytes, bytes + sizeof bytes);
  Stored value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename Stored, typename Element>
Element converted(Stored value, double scale, const StoredArray& array) {
  if constexpr (std::is_integral_v<Stored> && std::is_integral_v<Element>) {
    if (!std::in_range<Element>(value))
      throw RunError(
          fmt::format("{}: the value {} does not fit in {} bits", array.file, value, 8 * sizeof(Element)));
    return static_cast<Element>(value);
  } else {
    return static_cast<Element>(static_cast<double>(value) * scale);
  }
}

template <typename Stored, typename Element>
void convert(const StoredArray& array, int64_t first, int64_t count, double scale, std::byte* to) {
  const std::byte* from = array.data + first * static_cast<int64_t>(sizeof(Stored));
  const bool swap = array.big_endian != (std::endian::native == std::endian::big);
  if (std::is_same_v<Stored, Element> && !swap && scale == 1) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
    return;
  }
  Element* elements = reinterpret_cast<Element*>(to);
  for (int64_t i = 0; i < count; ++i)
    elements[i] = converted<Stored, Element>(
        load_one<Stored>(from + i * static_cast<int64_t>(sizeof(Stored)), swap), scale, array);
}

void convert_to_bool(const StoredArray& array, int64_t first, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = array.data[first + i] == std::byte{0} ? std::byte{0} : std::byte{1};
}

template <typename Element>
void convert_to(const StoredArray& array, int64_t first, int64_t count, double scale, std::byte* to) {
  switch (array.type) {
    case StoredType::kBool:
    case StoredType::kU8:
      return convert<uint8_t, Element>(array, first, count, scale, to);
    case StoredType::kI8:
      return convert<int8_t, Element>(array, first, count, scale, to);
    case StoredType::kU16:
      return convert<uint16_t, Element>(array, first, count, scale, to);
    case StoredType::kI16:
      return convert<int16_t, Element>(array, first, count, scale, to);
    case StoredType::kU32:
      return convert<uint32_t, Element>(array, first, count, scale, to);
    case StoredType::kI32:
      return convert<int32_t, Element>(array, first, count, scale, to);
    case StoredType::kU64:
      return convert<uint64_t, Element>(array, first, count, scale, to);
    case StoredType::kI64:
      return convert<int64_t, Element>(array, first, count, scale, to);
    case StoredType::kF32:
      return convert<float, Element>(array, first, count, scale, to);
    case StoredType::kF64:
      return convert<double, Element>(array, first, count, scale, to);
    case StoredType::kF16:
      return convert<Half, Element>(array, first, count, scale, to);
    case StoredType::kBF16:
      return convert<Bf16, Element>(array, first, count, scale, to);
    case StoredType::kF8:
      return convert<Float8, Element>(array, first, count, scale, to);
  }
}

}  // namespace

void require_convertible(const StoredArray& array, DType dtype, double scale, const std::string& what) {
  if (array.parts) {
    for (const ArrayPart& part : *array.parts) require_convertible(part.array, dtype, scale, what);
    return;
  }
  const bool fraction = is_float(array.type);
  const bool truth = array.type == StoredType::kBool || array.type == StoredType::kU8;
  if (dtype == DType::kBool ? !truth : is_integer(dtype) && fraction)
    throw RunError(fmt::format("{}: {} values can't fill {}, which is {}", array.file, to_string(array.type),
                               what, to_string(dtype)));
  if (!is_float(dtype) && scale != 1)
    throw RunError(
        fmt::format("{}: a scale needs floating point, but {} is {}", array.file, what, to_string(dtype)));
}

namespace {

// Copies from each of the parts that the range lies in.
void copy_from_parts(const std::vector<ArrayPart>& parts, const Interval& range, double scale, DType dtype,
                     std::byte* to) {
  if (range.size() == 0) return;
  auto part = std::upper_bound(parts.begin(), parts.end(), range.begin,
                               [](int64_t at, const ArrayPart& each) { return at < each.begin; });
  for (--part; part != parts.end() && part->begin < range.end; ++part) {
    const bool is_last = part + 1 == parts.end();
    const int64_t begin = std::max(range.begin, part->begin),
                  end = is_last ? range.end : std::min(range.end, (part + 1)->begin);
    copy_stored(part->array, {begin - part->begin, end - part->begin}, scale, dtype,
                to + (begin - range.begin) * size_of(dtype));
  }
}

// Copies runs of elements that have one scale.
void copy_scaled(const StoredArray& array, const Interval& range, double scale, DType dtype, std::byte* to) {
  const BlockScales& blocks = *array.scales;
  const int64_t columns = blocks.scales.shape.back();
  StoredArray plain = array;
  plain.scales = nullptr;
  for (int64_t at = range.begin; at < range.end;) {
    const int64_t element = blocks.first + at, row = element / blocks.columns,
                  column = element % blocks.columns;
    const int64_t row_end = (column / kScaledBlock + 1) * kScaledBlock;
    const int64_t end = std::min(range.end, at + std::min(row_end, blocks.columns) - column);
    const int64_t block = row / kScaledBlock * columns + column / kScaledBlock;
    double own = 1;
    copy_stored(blocks.scales, {block, block + 1}, 1, DType::kF64, reinterpret_cast<std::byte*>(&own));
    copy_stored(plain, {at, end}, scale * own, dtype, to + (at - range.begin) * size_of(dtype));
    at = end;
  }
}

// Throws RunError for a number that f16 can't hold.
void copy_halves(const StoredArray& array, const Interval& range, std::byte* to) {
  constexpr double kLargest = 65504;
  std::vector<double> values(static_cast<size_t>(range.size()));
  copy_stored(array, range, 1, DType::kF64, reinterpret_cast<std::byte*>(values.data()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto half = static_cast<_Float16>(values[i]);
    if (std::isfinite(values[i]) && !std::isfinite(static_cast<double>(half)))
      throw RunError(
          fmt::format("{}: {} is too large for f16, which ends at {}", array.file, values[i], kLargest));
    std::memcpy(to + i * sizeof half, &half, sizeof half);
  }
}

}  // namespace

void copy_stored(const StoredArray& array, const Interval& range, StoredType type, std::byte* to) {
  switch (type) {
    case StoredType::kF32:
      return copy_stored(array, range, 1, DType::kF32, to);
    case StoredType::kF64:
      return copy_stored(array, range, 1, DType::kF64, to);
    case StoredType::kBF16:
      return copy_stored(array, range, 1, DType::kBF16, to);
    case StoredType::kF16:
      return copy_halves(array, range, to);
    default:
      throw InternalError("files of weights have no such elements");
  }
}

void copy_stored(const StoredArray& array, const Interval& range, double scale, DType dtype, std::byte* to) {
  if (array.parts) return copy_from_parts(*array.parts, range, scale, dtype, to);
  if (array.scales) return copy_scaled(array, range, scale, dtype, to);
  const int64_t first = range.begin, count = range.size();
  switch (dtype) {
    case DType::kF32:
      return convert_to<float>(array, first, count, scale, to);
    case DType::kBF16:
      return convert_to<Bf16>(array, first, count, scale, to);
    case DType::kF64:
      return convert_to<double>(array, first, count, scale, to);
    case DType::kI32:
      return convert_to<int32_t>(array, first, count, scale, to);
    case DType::kI64:
      return convert_to<int64_t>(array, first, count, scale, to);
    case DType::kI8:
      throw InternalError("no stored array fills an i8 tensor by itself");
    case DType::kBool:
      return convert_to_bool(array, first, count, to);
  }
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<int64_t> shape_of(const Dims& dims) {
  std::vector<int64_t> shape;
  for (const Dim& dim : dims) shape.push_back(dim.size);
  return shape;
}

}  // namespace mtfc
