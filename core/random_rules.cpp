#include "core/random_rules.h"

#include "core/operation_rules.h"

namespace mtfc {

std::vector<TensorType> infer_random(const OpCall& call) {
  const DType dtype = call.attributes.get_or("dtype", DType::kF32);
  const Dims& dims = call.attributes.get<Dims>("dims");
  require_distinct(dims, "dims");
  if (!is_float(dtype))
    throw OpError{"'dtype' must be f32 or f64, not " + to_string(dtype), "cast makes other ones", -1,
                  "dtype"};
  return {{dtype, dims}};
}

}  // namespace mtfc
