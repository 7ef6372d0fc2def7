#include "core/model/factored_dims.h"

#include <doctest/doctest.h>

#include <functional>

#include "core/op_rules/example.h"

namespace mtfc::factored_dims_test {
namespace {

// "first, second" of a variable w that `use` reads; "" if it has none.
std::string factored(const char* dims, double least,
                     const std::function<void(GraphBuilder&, TensorId)>& use = {}) {
  GraphBuilder b;
  const TensorId w = b.add_variable("w", {DType::kF32, dims_of(dims)});
  if (use) use(b, w);
  const auto found = default_factored_dims(b.graph(), {"w"}, least);
  return found.empty() ? "" : found.at("w").first.name + ", " + found.at("w").second.name;
}

std::function<void(GraphBuilder&, TensorId)> product(const char* x, const char* result) {
  return [=](GraphBuilder& b, TensorId w) {
    const TensorId input = b.add_input(std::string(x) + result, {DType::kF32, dims_of(x)});
    b.op("einsum", {input, w}, {{"dims", dims_of(result)}});
  };
}

}  // namespace

TEST_CASE("the two largest dimensions of at least a size are factored, of equal ones the later") {
  CHECK(factored("a=4 b=4 c=4", 1) == "b, c");
  CHECK(factored("a=5 b=4 c=4", 1) == "a, c");
  CHECK(factored("a=7 b=3 c=9", 1) == "a, c");
  CHECK(factored("a=128 b=127", 128) == "");
  CHECK(factored("a=128 b=300 c=127", 128) == "a, b");
  CHECK(factored("a=1000", 1) == "");
  CHECK(factored("", 1) == "");
}

TEST_CASE("dimensions along which products keep parts of the variable apart are not factored") {
  const auto experts = product("e=9 c=2 m=5", "e=9 c=2 h=7");
  CHECK(factored("e=9 m=5 h=7", 1, experts) == "m, h");
  CHECK(factored("e=9 m=5 h=7", 6, experts) == "");
  // In another product of the same variable, its experts are added up.
  CHECK(factored("e=9 m=5 h=7", 1, [&](GraphBuilder& b, TensorId w) {
          experts(b, w);
          product("e=9 m=5", "h=7")(b, w);
        }) == "e, h");
  // Free and contracted dimensions are no stacks.
  CHECK(factored("m=5 heads=9 kv=3", 1, product("l=4 m=5", "l=4 heads=9 kv=3")) == "m, heads");
}

TEST_CASE("the variable is followed through operations that keep its elements") {
  const auto changed = [](const char* how) {
    return [how = std::string(how)](GraphBuilder& b, TensorId w) {
      TensorId same = w;
      if (how == "cast") same = b.op("cast", {w}, {{"dtype", DType::kF64}});
      if (how == "transpose") same = b.op("transpose", {w}, {{"dims", dims_of("h=7 e=9 m=5")}});
      if (how == "rename") same = b.op("reshape", {w}, {{"dims", dims_of("x=9 m=5 h=7")}});
      const DType dtype = b.type(same).dtype;
      const TensorId x = b.add_input("x", {dtype, dims_of(how == "rename" ? "x=9 m=5" : "e=9 m=5")});
      b.op("einsum", {x, same}, {{"dims", dims_of(how == "rename" ? "x=9 h=7" : "e=9 h=7")}});
    };
  };
  for (const char* how : {"", "cast", "transpose", "rename"})
    CHECK(factored("e=9 m=5 h=7", 1, changed(how)) == "m, h");
}

}  // namespace mtfc::factored_dims_test
