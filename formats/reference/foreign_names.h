#pragma once
// What TensorFlow, PyTorch, NumPy and JAX call things, and how a model says the same. One table, so that a name
// gets the same hint wherever it is typed; a name in it is never taken for a slip of the finger, as `elu` for
// `gelu` or `tan` for `tanh`.

#include <span>
#include <string>
#include <string_view>

namespace mtfc {

enum class ForeignKind { kOperation, kDType, kOptimizer, kInit };

struct ForeignName {
  std::string_view name;  // in lower case, without a module such as `tf.nn.`
  std::string_view hint;  // names of mtfc are between single quotes
};

/// All names of a kind, for tests.
std::span<const ForeignName> foreign_names(ForeignKind kind);

/// The hint for `name`, which may be written as `tf.nn.MaxPool`; "" if it is not in the table.
std::string foreign_hint(ForeignKind kind, std::string_view name);

}  // namespace mtfc
