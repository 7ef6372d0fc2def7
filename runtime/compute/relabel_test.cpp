#include "runtime/compute/relabel.h"

#include <doctest/doctest.h>

#include "core/op_rules/example.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::relabel_test {

TEST_CASE("large transposes and broadcasts put every element in its place") {
  const HostTensor x = example_tensor(steps("a=70 b=37 c=41", DType::kI32), 0);
  for (const char* order :
       {"c=41 a=70 b=37", "b=37 a=70 c=41", "c=41 b=37 a=70", "a=70 c=41 b=37", "b=37 c=41 a=70",
        "c=41 n=3 a=70 b=37", "n=3 c=41 b=37 a=70", "a=70 b=37 c=41 n=3", "a=70 n=3 c=41 b=37"}) {
    CAPTURE(order);
    const Dims dims = dims_of(order);
    const HostTensor y = call_kernel({.op = contains(dims, "n") ? "broadcast" : "transpose",
                                      .attributes = {{"dims", dims}},
                                      .operands = {x}})
                             .result;
    bool same = true;
    for (int64_t i = 0; i < elements(dims); ++i) {
      int64_t a = 0, b = 0, c = 0, rest = i;
      for (size_t d = dims.size(); d-- > 0;) {
        const int64_t index = rest % dims[d].size;
        rest /= dims[d].size;
        (dims[d].name == "a"   ? a
         : dims[d].name == "b" ? b
         : dims[d].name == "c" ? c
                               : rest) += dims[d].name == "n" ? 0 : index;
      }
      same = same && y.as<int32_t>()[i] == x.as<int32_t>()[(a * 37 + b) * 41 + c];
    }
    CHECK(same);
  }
}

TEST_CASE("parts of nothing are moved") {
  const HostTensor x = example_tensor(normal("a=3 b=5"), 0);
  const KernelAnswer answer = call_kernel({.op = "transpose",
                                           .attributes = {{"dims", dims_of("b=5 a=3")}},
                                           .operands = {x},
                                           .operand_boxes = {{{1, 1}, {0, 5}}},
                                           .result_box = Box{{0, 5}, {1, 1}}});
  CHECK(answer.result.data.empty());
}

}  // namespace mtfc::relabel_test
