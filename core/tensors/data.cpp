#include "core/tensors/data.h"

#include <iterator>

namespace mtfc {
namespace {

struct StoredFacts {
  const char* name;
  int64_t size;
};
constexpr StoredFacts kStored[] = {{"u8", 1},   {"i8", 1},  {"u16", 2}, {"i16", 2}, {"u32", 4},
                                   {"i32", 4},  {"u64", 8}, {"i64", 8}, {"f32", 4}, {"f64", 8},
                                   {"bool", 1}, {"f16", 2}, {"bf16", 2}};

}  // namespace

int64_t size_of(StoredType type) {
  return kStored[static_cast<int>(type)].size;
}
std::string to_string(StoredType type) {
  return kStored[static_cast<int>(type)].name;
}

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF64 || type == StoredType::kF16 ||
         type == StoredType::kBF16;
}

}  // namespace mtfc
