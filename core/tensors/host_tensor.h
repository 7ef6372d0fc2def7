#pragma once
// A whole tensor in the memory of one process, dense and row-major.

#include <cstddef>
#include <vector>

#include "core/tensors/shape.h"

namespace mtfc {

struct HostTensor {
  TensorType type;
  std::vector<std::byte> data;

  HostTensor() = default;
  /// Zeros.
  explicit HostTensor(const TensorType& of) : type(of), data(static_cast<size_t>(bytes(of))) {}
  size_t size() const { return static_cast<size_t>(elements(type.dims)); }
  /// The elements as T, which must be the type of `type.dtype`.
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data.data());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

}  // namespace mtfc
