#include "runtime/index_check.h"

#include <fmt/format.h>

#include "runtime/dtypes.h"
#include "runtime/loop_nest.h"

namespace mtfc {

int64_t global_index(const LocalTensor& tensor, int64_t local) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : tensor.type.dims) sizes.push_back(dim.size);
  const std::vector<int64_t> strides = dense_strides(sizes);
  int64_t index = 0;
  for (size_t i = 0; i < sizes.size(); ++i) index += tensor.box[i].begin * strides[i];
  const LoopNest nest{tensor.extents(), {strides}};
  return index + NestCursor(nest, nest.loops(), local).offset(0);
}

namespace {

template <typename I>
bool check(const IndexCheck& check, const std::byte* data) {
  const I* values = reinterpret_cast<const I*>(data);
  const int64_t count = check.indices.elements();
  for (int64_t i = 0; i < count; ++i)
    if (values[i] < 0 || values[i] >= check.dim.size)
      throw RunError(fmt::format("index {} at element {} is out of range: '{}' has {}", values[i],
                                 global_index(check.indices, i), check.dim.name, check.dim.size));
  return true;
}

}  // namespace

void IndexCheck::run(const std::byte* data) const {
  dispatch(Integers{}, indices.type.dtype, [&]<typename I>() { return check<I>(*this, data); });
}

}  // namespace mtfc
