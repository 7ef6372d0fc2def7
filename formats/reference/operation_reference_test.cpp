#include "formats/reference/operation_reference.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/graph/op_registry.h"
#include "core/graph/operation_text.h"
#include "formats/model/model_reader.h"

namespace mtfc::operation_reference_test {
namespace {

bool fits(const std::string& text, size_t width) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.size() > width && line.find('{') == std::string::npos && line.find('[') == std::string::npos)
      return false;
  return true;
}

void add_sizes(std::map<std::string, int64_t>& sizes, const Dims& dims) {
  for (const Dim& dim : dims) sizes[dim.name] = dim.size;
}

// A model that uses the operation in the same way as its page.
std::string model_with(const std::string& operation, const Example& example,
                       const std::vector<TensorType>& results) {
  std::map<std::string, int64_t> sizes;
  std::string inputs, dims;
  const std::vector<std::string> names = example_names('x', example.operands.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const TensorType& type = example.operands[i].type;
    add_sizes(sizes, type.dims);
    std::string list;
    for (const Dim& dim : type.dims) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", dim.name);
    inputs += fmt::format("{}\"{}\": {{\"dims\": [{}], \"dtype\": \"{}\"}}", i ? ", " : "", names[i], list,
                          to_string(type.dtype));
  }
  for (const TensorType& type : results) add_sizes(sizes, type.dims);
  for (const auto& [name, value] : example.attributes.entries()) {
    if (const Dim* dim = std::get_if<Dim>(&value)) add_sizes(sizes, {*dim});
    if (const Dims* list = std::get_if<Dims>(&value)) add_sizes(sizes, *list);
  }
  for (const auto& [name, size] : sizes)
    dims += fmt::format("{}\"{}\": {}", dims.empty() ? "" : ", ", name, size);
  return fmt::format(R"({{"mtfc": 1, "dims": {{{}}}, "inputs": {{{}}}, "ops": [{}]}})", dims, inputs,
                     operation);
}

}  // namespace

TEST_CASE("every operation is listed, in lines that fit") {
  const std::string list = operation_list(72);
  for (const std::string& name : operation_names()) {
    CAPTURE(name);
    CHECK(list.find("\n  " + name + " ") != std::string::npos);
  }
  CHECK(fits(list, 72));
  CHECK(fits(operation_list(60), 60));
}

TEST_CASE("worked examples are shown with their numbers") {
  const std::string page = operation_page(*find_signature("top_k"), 80);
  const std::string expected =
      "\nWorked example:\n"
      "  {\"out\": [\"y1\", \"y2\"], \"op\": \"top_k\", \"in\": \"x\", \"dim\": \"classes\", \"to\": "
      "\"best\"}\n"
      "  x: f32[classes=5] = [3, 9, 4, 9, 1]\n"
      "  y1: f32[best=3] = [9, 9, 4]\n"
      "  y2: i32[best=3] = [1, 3, 2]\n";
  CHECK(page.find(expected) != std::string::npos);
  const std::string where = operation_page(*find_signature("where"), 80);
  CHECK(where.find("x1: bool[batch=3] = [true, false, true]\n") != std::string::npos);
  const std::string add = operation_page(*find_signature("add"), 80);
  CHECK(add.find("x1: f32[batch=2, hidden=3] = [[1, 2, 3], [4, 5, 6]]\n") != std::string::npos);
  CHECK(operation_page(*find_signature("sin"), 80).find("Worked example") == std::string::npos);
}

TEST_CASE("the example of every page can be pasted into a model, and means what the page says") {
  for (const std::string& name : operation_names()) {
    CAPTURE(name);
    const Signature& signature = *find_signature(name);
    const std::string page = operation_page(signature, 80);
    CHECK(fits(page, 80));
    const Example& example = signature.examples.front();
    std::vector<TensorType> types;
    for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
    const std::vector<TensorType> results = signature.infer({example.attributes, types});
    const std::string operation = operation_text(name, example_names('y', results.size()),
                                                 example_names('x', types.size()), example.attributes);
    CHECK(page.find(operation) != std::string::npos);
    std::vector<Diagnostic> warnings;
    const Model model = read_model(model_with(operation, example, results), "page", {}, warnings);
    const std::vector<std::string> names = example_names('y', results.size());
    for (size_t i = 0; i < results.size(); ++i)
      CHECK(model.graph.type(model.graph.find(names[i])) == results[i]);
  }
}

TEST_CASE("a page") {
  CHECK(operation_page(*find_signature("gather"), 80) ==
        "gather\n"
        "  The slices of a table at indices along one of its dimensions, each times its\n"
        "  weight in the third operand if there is one; the result has the indices'\n"
        "  dimensions, then the table's remaining ones, and dimensions that both have are\n"
        "  batch dimensions.\n"
        "\n"
        "Operands: 2 to 3\n"
        "\n"
        "Attributes:\n"
        "  dim           a dimension, required: the dimension of the table that the\n"
        "                indices count along\n"
        "  over          a dimension or a list of them: dimensions of the indices to add\n"
        "                the slices up along; default: none\n"
        "  skip_outside  true, false or an expression: whether an index outside of `dim`,\n"
        "                such as -1, is skipped, as if zeros were there; by default it\n"
        "                ends the run with an error\n"
        "\n"
        "Gradient: yes\n"
        "\n"
        "If dimensions of the example are split:\n"
        "  vocab  each device computes a partial result, and the partial results are\n"
        "         reduced\n"
        "  batch  each device computes its part\n"
        "  model  each device computes its part\n"
        "\n"
        "Example:\n"
        "  {\"out\": \"y\", \"op\": \"gather\", \"in\": [\"x1\", \"x2\"], \"dim\": \"vocab\"}\n"
        "  x1: f64[vocab=7, model=3]\n"
        "  x2: i32[batch=5]\n"
        "  y: f64[batch=5, model=3]\n"
        "\n"
        "Worked example:\n"
        "  {\"out\": \"y\", \"op\": \"gather\", \"in\": [\"x1\", \"x2\"], \"dim\": \"vocab\"}\n"
        "  x1: f32[vocab=3, model=2] = [[1, 2], [3, 4], [5, 6]]\n"
        "  x2: i32[batch=2] = [2, 0]\n"
        "  y: f32[batch=2, model=2] = [[5, 6], [1, 2]]\n"
        "\n"
        "Worked example:\n"
        "  {\"out\": \"y\", \"op\": \"gather\", \"in\": [\"x1\", \"x2\", \"x3\"], \"dim\": \"vocab\", "
        "\"over\": [\"choice\"]}\n"
        "  x1: f32[vocab=3, model=2] = [[1, 2], [3, 4], [5, 6]]\n"
        "  x2: i32[choice=2] = [2, 0]\n"
        "  x3: f32[choice=2] = [10, 100]\n"
        "  y: f32[model=2] = [150, 260]\n");
}

}  // namespace mtfc::operation_reference_test
