#include "formats/model/literal.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/op_registry.h"

namespace mtfc {

std::optional<OpError> literal_problem(double value, DType dtype) {
  const Attributes attributes = {{"value", value}, {"dtype", dtype}};
  try {
    op_named("constant").signature.infer({attributes, {}});
  } catch (const OpError& error) {
    return error;
  }
  if (is_integer(dtype) && std::abs(value) >= 0x1p53)
    return OpError{
        fmt::format("{} is too large: whole numbers are read exactly up to 9007199254740991", value),
        "give it as data of an input, or load it into a variable"};
  return std::nullopt;
}

}  // namespace mtfc
