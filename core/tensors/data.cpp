#include "core/tensors/data.h"

namespace mtfc {

int64_t size_of(StoredType type) {
  static constexpr int64_t kSizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 2, 2};
  return kSizes[static_cast<int>(type)];
}

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF64 || type == StoredType::kF16 ||
         type == StoredType::kBF16;
}

}  // namespace mtfc
