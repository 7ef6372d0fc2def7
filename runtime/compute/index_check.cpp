#include "runtime/compute/index_check.h"

#include <fmt/format.h>

#include "core/diagnostics/printable.h"
#include "runtime/compute/loop_nest.h"
#include "runtime/memory/dtypes.h"

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

std::string place_text(const LocalTensor& tensor, int64_t local) {
  int64_t index = global_index(tensor, local);
  Dims at = tensor.type.dims;
  if (at.empty()) return "";
  for (size_t i = at.size(); i-- > 0;) {
    const int64_t size = at[i].size;
    at[i].size = index % size;
    index /= size;
  }
  return " at [" + to_string(at) + "]";
}

namespace {

template <typename I>
bool check(const IndexCheck& check, const std::byte* data) {
  const I* values = reinterpret_cast<const I*>(data);
  const int64_t count = check.indices.elements();
  for (int64_t i = 0; i < count; ++i)
    if (values[i] < 0 || values[i] >= check.dim.size)
      throw IndexError(fmt::format("index {}{} is out of range: '{}' has {}", values[i],
                                   place_text(check.indices, i), check.dim.name, check.dim.size),
                       data, global_index(check.indices, i));
  return true;
}

}  // namespace

std::string not_finite_text(const std::string& name, double value, const LocalTensor& tensor, int64_t local) {
  return fmt::format("'{}' has the value {}{}", name, number_text(value), place_text(tensor, local));
}

IndexCheck index_check(const KernelSite& site, const Dim& dim, const LocalTensor& indices) {
  return {dim, indices, site.attributes.get_or("skip_outside", false)};
}

void IndexCheck::run(const std::byte* data) const {
  if (!skips) dispatch(Integers{}, indices.type.dtype, [&]<typename I>() { return check<I>(*this, data); });
}

}  // namespace mtfc
