#include "core/tensors/data.h"

#include <functional>
#include <numeric>

#include "core/diagnostics/error.h"

namespace mtfc {

int64_t size_of(StoredType type) {
  static constexpr int64_t kSizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 2, 2, 1};
  return kSizes[static_cast<int>(type)];
}

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF64 || type == StoredType::kF16 ||
         type == StoredType::kBF16 || type == StoredType::kF8;
}

int64_t element_count(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return StoredType::kF32;
    case DType::kF64:
      return StoredType::kF64;
    case DType::kBF16:
      return StoredType::kBF16;
    case DType::kI32:
      return StoredType::kI32;
    case DType::kI64:
      return StoredType::kI64;
    case DType::kI8:
      return StoredType::kI8;
    case DType::kBool:
      return StoredType::kBool;
  }
  throw InternalError("there is no such dtype");
}

int64_t TensorPlace::bytes() const {
  return element_count(shape) * size_of(type);
}

}  // namespace mtfc
