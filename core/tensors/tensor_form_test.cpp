#include "core/tensors/tensor_form.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::tensor_form_test {
namespace {

const Mesh kMesh({{"p", 2}});
const Dims kTwo = {{"b", 4}, {"d", 8}}, kThree = {{"b", 4}, {"h", 2}, {"k", 4}};
const Sharding kSplit{{{0}, {}}, {}};

TEST_CASE("a form has the names of its own dimensions") {
  CHECK(to_string(TensorForm(kTwo, kSplit), kMesh) == "[b/p, d]");
  CHECK(to_string(TensorForm(), kMesh) == "[]");
}

TEST_CASE("a sharding with the dimensions of another tensor is an internal error wherever it is read") {
  CHECK_THROWS_AS(TensorForm(kThree, kSplit), InternalError);
  CHECK_THROWS_AS(TensorForm({}, kSplit), InternalError);
  CHECK_THROWS_AS(to_string(kThree, kSplit, kMesh), InternalError);
  CHECK_THROWS_AS(local_box(kThree, kSplit, kMesh, {0}), InternalError);
}

}  // namespace
}  // namespace mtfc::tensor_form_test
