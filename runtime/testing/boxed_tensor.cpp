#include "runtime/testing/boxed_tensor.h"

#include <algorithm>
#include <cstring>

#include "runtime/memory/dtypes.h"

namespace mtfc {

BoxedTensor::BoxedTensor(DType dtype, Dims dims, Box box)
    : tensor{{dtype, std::move(dims)}, std::move(box)}, values(static_cast<size_t>(tensor.elements())) {}

int64_t BoxedTensor::stride(const std::string& name) const {
  int64_t stride = 1;
  for (size_t i = tensor.type.dims.size(); i-- > 0; stride *= tensor.box[i].size())
    if (tensor.type.dims[i].name == name) return stride;
  return 0;
}

Interval BoxedTensor::interval(const std::string& name) const {
  return tensor.box[static_cast<size_t>(position(tensor.type.dims, name))];
}

void BoxedTensor::fill_randomly(std::mt19937& random) {
  const bool integers = is_integer(tensor.type.dtype);
  for (double& value : values)
    value =
        integers ? static_cast<double>(draw(random, -9, 9)) : static_cast<double>(draw(random, -64, 63)) / 64;
}

std::vector<std::byte> BoxedTensor::bytes() const {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(tensor.type.dtype)));
  dispatch(Numbers{}, tensor.type.dtype, [&]<typename T>() -> int {
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return 0;
  });
  return bytes;
}

void BoxedTensor::read(const std::vector<std::byte>& bytes) {
  dispatch(Numbers{}, tensor.type.dtype, [&]<typename T>() -> int {
    for (size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(value);
    }
    return 0;
  });
}

BoxedAnswer run_boxed(const KernelDef& kernel, const Attributes& attributes,
                      const std::vector<BoxedTensor>& operands, const std::vector<BoxedTensor>& results,
                      int64_t workspace_bytes) {
  KernelSite site{attributes, {}, {}, "test", workspace_bytes};
  std::vector<std::vector<std::byte>> data;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  BoxedAnswer answer;
  for (const BoxedTensor& operand : operands) {
    site.operands.push_back(operand.tensor);
    data.push_back(operand.bytes());
    from.push_back(data.back().data());
  }
  for (const BoxedTensor& result : results) {
    site.results.push_back(result.tensor);
    answer.results.emplace_back(result.bytes().size(), std::byte{0x7B});
    to.push_back(answer.results.back().data());
  }
  std::vector<std::byte> workspace(static_cast<size_t>(workspace_bytes), std::byte{0x7B});
  KernelRun run{.operands = from, .results = to, .workspace = workspace.data()};
  const Kernel prepared = kernel.prepare(site);
  answer.flops = prepared(run);
  return answer;
}

Interval draw_interval(std::mt19937& random, int64_t size) {
  const int64_t kind = draw(random, 0, 19);
  if (kind < 11) return {0, size};
  const int64_t begin = draw(random, 0, size);
  return {begin, kind == 19 ? begin : draw(random, begin, size)};
}

}  // namespace mtfc
