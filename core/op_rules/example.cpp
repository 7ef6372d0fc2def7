#include "core/op_rules/example.h"

#include <charconv>

#include "core/diagnostics/error.h"

namespace mtfc {

Dims dims_of(std::string_view text) {
  Dims dims;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t equals = word.find('=');
    check_invariant(equals != std::string_view::npos, "an example's dimension has no size");
    Dim dim{std::string(word.substr(0, equals)), 0};
    const auto [end, error] = std::from_chars(word.data() + equals + 1, word.data() + word.size(), dim.size);
    check_invariant(error == std::errc() && end == word.data() + word.size(),
                    "an example's size is not a number");
    dims.push_back(std::move(dim));
  }
  return dims;
}

Dim dim_of(std::string_view text) {
  return dims_of(text).at(0);
}

ExampleOperand normal(std::string_view dims, DType dtype) {
  return {{dtype, dims_of(dims)}, Fill::kNormal, 0};
}

ExampleOperand positive(std::string_view dims, DType dtype) {
  return {{dtype, dims_of(dims)}, Fill::kPositive, 0};
}

ExampleOperand steps(std::string_view dims, DType dtype) {
  return {{dtype, dims_of(dims)}, Fill::kSteps, 0};
}

ExampleOperand indices(std::string_view dims, int64_t limit, DType dtype) {
  return {{dtype, dims_of(dims)}, Fill::kIndex, limit};
}

ExampleOperand flags(std::string_view dims) {
  return {{DType::kBool, dims_of(dims)}, Fill::kBool, 0};
}

KnownTensor known(std::string_view dims, std::vector<double> elements, DType dtype) {
  const TensorType type{dtype, dims_of(dims)};
  check_invariant(static_cast<int64_t>(elements.size()) == mtfc::elements(type.dims),
                  "a worked example has too few or too many elements");
  return {type, std::move(elements)};
}

WorkedExample worked(std::vector<KnownTensor> operands, Attributes attributes,
                     std::vector<std::vector<double>> results) {
  return {std::move(operands), std::move(attributes), std::move(results)};
}

std::vector<Example> aligned_examples(ExampleMaker first, ExampleMaker second) {
  const auto use = [&](std::string_view a, std::string_view b, DType dtype = DType::kF64) {
    return Example{{first(a, dtype), second(b, dtype)}, {}};
  };
  Example reordered = use("batch=5 hidden=7", "model=3 hidden=7");
  reordered.attributes = {{"dims", dims_of("model=3 batch=5 hidden=7")}};
  return {
      use("batch=5 hidden=7", "batch=5 hidden=7"),
      use("batch=5 hidden=7", "hidden=7"),
      use("hidden=7", "batch=5 hidden=7 model=3"),
      use("batch=5 hidden=7", "hidden=7 batch=5"),
      use("batch=5", "hidden=7"),
      use("", "batch=5"),
      use("batch=5 hidden=7", "hidden=7", DType::kF32),
      reordered,
  };
}

std::vector<Example> aligned_number_examples() {
  std::vector<Example> examples = aligned_examples(normal, normal);
  examples.push_back({{steps("batch=5 hidden=7", DType::kI32), steps("batch=5", DType::kI32)}, {}});
  return examples;
}

std::vector<Example> comparison_examples() {
  std::vector<Example> examples = aligned_examples(steps, steps);
  examples.push_back({{steps("batch=5 hidden=7", DType::kI32), steps("batch=5", DType::kI32)}, {}});
  return examples;
}

}  // namespace mtfc
