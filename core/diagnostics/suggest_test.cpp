#include "core/diagnostics/suggest.h"

#include <doctest/doctest.h>

namespace mtfc::suggest_test {

TEST_CASE("slips of the finger are recognised") {
  CHECK(did_you_mean("hiden", {"batch", "hidden"}) == "did you mean 'hidden'?");
  CHECK(did_you_mean("btach", {"batch", "hidden"}) == "did you mean 'batch'?");
  CHECK(did_you_mean("hh", {"w", "h"}) == "did you mean 'h'?");
  CHECK(did_you_mean("LOSS", {"less", "loss"}) == "did you mean 'loss'?");
  CHECK(did_you_mean("X", {"y", "x"}) == "did you mean 'x'?");
}

TEST_CASE("a name without its first parts, or some in the middle, stands for the whole name") {
  const std::vector<std::string> names = {"a1",         "a2",      "enc/w1",          "enc/w2",
                                          "layer_0/a",  "head/w2", "layer_0/self/wq", "layer_1/self/wq",
                                          "layer_0/wqs"};
  CHECK(did_you_mean("w1", names) == "did you mean 'enc/w1'?");
  CHECK(did_you_mean("w2", names) == "did you mean 'enc/w2' or 'head/w2'?");
  CHECK(did_you_mean("layer_0/wq", names) == "did you mean 'layer_0/self/wq'?");
  CHECK(did_you_mean("self/wq", names) == "did you mean 'layer_0/self/wq' or 'layer_1/self/wq'?");
  CHECK(did_you_mean("w", {"a/w", "b/w", "a/w", "c/w"}) == "did you mean 'a/w', 'b/w' or 'c/w'?");
  CHECK(did_you_mean("w", {"a/w", "b/w", "c/w", "d/w"}) == "did you mean 'a/w', 'b/w' or one of 2 more?");
  CHECK(did_you_mean("self/layer_0/wq", names).empty());  // in another order
  CHECK(did_you_mean("q", names).empty());
}

TEST_CASE("the beginning of a name is recognised where commands and topics are suggested") {
  CHECK(did_you_mean("cost", {"check", "cost-report"}).empty());
  CHECK(did_you_mean_word("cost", {"check", "cost-report"}) == "did you mean 'cost-report'?");
  CHECK(did_you_mean_word("shwo", {"show", "shwo-report"}) == "did you mean 'show'?");
  CHECK(did_you_mean_word("c", {"check", "cost-report"}).empty());
  CHECK(did_you_mean_word("report", {"check", "cost-report"}).empty());
}

TEST_CASE("other names are not suggested") {
  CHECK(did_you_mean("v", {"h", "w", "vw"}).empty());
  CHECK(did_you_mean("", {"h", "w"}).empty());
  CHECK(did_you_mean("depth", {"batch", "rows"}).empty());
  CHECK(did_you_mean("w", {"", "w"}).empty());
}

}  // namespace mtfc::suggest_test
