#pragma once
// A form of a tensor: its dimensions, and how devices hold them. A sharding alone does not say which dimensions it
// splits, so whatever prints, draws or saves one takes it together with its own dimensions. Example: [batch/p, d] and
// [batch/p, heads, d_kv] are forms of the two sides of a reshape.

#include <string>

#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// Throws InternalError unless `sharding` says of each of the dimensions, and of no other, how it is split.
void check_form(const Dims& dims, const Sharding& sharding);

class TensorForm {
 public:
  /// The form of a scalar that every device holds.
  TensorForm() = default;
  /// Throws InternalError where check_form() does.
  TensorForm(Dims dims, Sharding sharding);

  const Dims& dims() const { return dims_; }
  const Sharding& sharding() const { return sharding_; }
  bool operator==(const TensorForm&) const = default;

 private:
  Dims dims_;
  Sharding sharding_;
};

/// `[batch/rows, hidden]`, and what the value is partial over.
std::string to_string(const TensorForm& form, const Mesh& mesh);

}  // namespace mtfc
