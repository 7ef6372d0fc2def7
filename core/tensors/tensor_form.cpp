#include "core/tensors/tensor_form.h"

#include <utility>

#include "core/diagnostics/error.h"

namespace mtfc {

void check_form(const Dims& dims, const Sharding& sharding) {
  check_invariant(dims.size() == sharding.dims.size(),
                  "a sharding is read with the dimensions of another tensor");
}

TensorForm::TensorForm(Dims dims, Sharding sharding)
    : dims_(std::move(dims)), sharding_(std::move(sharding)) {
  check_form(dims_, sharding_);
}

std::string to_string(const TensorForm& form, const Mesh& mesh) {
  return "[" + to_string(form.dims(), form.sharding(), mesh) + "]";
}

}  // namespace mtfc
