#include "formats/reference/foreign_names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/op_registry.h"
#include "core/model/optimizer.h"
#include "formats/reference/operation_reference.h"

namespace mtfc::foreign_names_test {
namespace {

// The words between single quotes.
std::vector<std::string> quoted(std::string_view hint) {
  std::vector<std::string> words;
  for (size_t at = hint.find('\''); at != std::string_view::npos;) {
    const size_t end = hint.find('\'', at + 1);
    REQUIRE(end != std::string_view::npos);
    words.emplace_back(hint.substr(at + 1, end - at - 1));
    at = hint.find('\'', end + 1);
  }
  return words;
}

std::vector<std::string> names_of(ForeignKind kind) {
  switch (kind) {
    case ForeignKind::kOperation: {
      std::vector<std::string> names = operation_names();
      for (const StatementKind& statement : statement_kinds()) names.push_back(statement.name);
      return names;
    }
    case ForeignKind::kDType:
      return model_dtypes();
    case ForeignKind::kOptimizer: {
      std::vector<std::string> names;
      for (const OptimizerDef* optimizer : all_optimizers()) names.emplace_back(optimizer->name);
      return names;
    }
    case ForeignKind::kInit:
      return {"zeros", "ones"};
  }
  return {};
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("every hint names what mtfc has, for a name that mtfc lacks, and tables are sorted") {
  for (const ForeignKind kind :
       {ForeignKind::kOperation, ForeignKind::kDType, ForeignKind::kOptimizer, ForeignKind::kInit}) {
    const std::vector<std::string> own = names_of(kind);
    std::string before;
    for (const auto& [name, hint] : foreign_names(kind)) {
      CAPTURE(name);
      CHECK(before < name);
      before = std::string(name);
      CHECK_FALSE(has(own, name));
      CHECK(foreign_hint(kind, name) == hint);
      for (const std::string& word : quoted(hint)) {
        CAPTURE(word);
        CHECK(has(own, word));
      }
    }
  }
}

TEST_CASE("names of other libraries get a hint, however they are written") {
  CHECK(operation_hint("matmul") == "did you mean 'einsum'?");
  CHECK(operation_hint("tf.matmul") == "did you mean 'einsum'?");
  CHECK(operation_hint("swish") == "did you mean 'silu'?");
  CHECK(operation_hint("reduce_logsumexp") == "did you mean 'logsumexp'?");
  CHECK(operation_hint("torch.nn.Conv2d") == "did you mean 'conv'?");
  CHECK(operation_hint("MaxPool2d") == operation_hint("max_pool2d"));
  CHECK(foreign_hint(ForeignKind::kDType, "np.float32") == "did you mean 'f32'?");
  CHECK(foreign_hint(ForeignKind::kOptimizer, "AdamW").empty());
}

TEST_CASE("another well-known function is not taken for a slip of the finger") {
  for (const auto& [name, wrong] :
       std::initializer_list<std::pair<const char*, const char*>>{{"elu", "gelu"},
                                                                  {"tan", "tanh"},
                                                                  {"sort", "sqrt"},
                                                                  {"xor", "'or'"},
                                                                  {"argmin", "did you mean"},
                                                                  {"reduce_std", "reduce_sum"},
                                                                  {"fmod", "did you mean"},
                                                                  {"log2", "did you mean"}}) {
    CAPTURE(name);
    CHECK_FALSE(operation_hint(name).empty());
    CHECK(operation_hint(name).find(wrong) == std::string::npos);
  }
  CHECK(foreign_hint(ForeignKind::kOptimizer, "nadam").find("did you mean") == std::string::npos);
  CHECK(operation_hint("sqr") == "did you mean 'sqrt'?");
}

}  // namespace mtfc::foreign_names_test
