#include "core/diagnostics/progress.h"

#include <doctest/doctest.h>

#include <vector>

namespace mtfc::progress_test {

TEST_CASE("what work tells reaches the innermost listener, with the larger work that it belongs to") {
  std::vector<std::string> outer, inner;
  const std::function<void(const WorkPart&)> hears_outer = [&](const WorkPart& part) {
    outer.push_back(part.what);
  };
  const std::function<void(const WorkPart&)> hears_inner = [&](const WorkPart& part) {
    inner.push_back(part.what);
  };
  tell_progress({"nobody listens"});
  {
    const ProgressListener listener(hears_outer);
    tell_progress({"one"});
    {
      const LargerWork change("change 3"), plan("train");
      tell_progress({"two", 1, 5, "operations"});
      const ProgressListener other(hears_inner);
      tell_progress({"three"});
    }
    tell_progress({"four"});
  }
  tell_progress({"nobody listens"});
  CHECK(outer == std::vector<std::string>{"one", "change 3: train: two", "four"});
  CHECK(inner == std::vector<std::string>{"change 3: train: three"});
}

}  // namespace mtfc::progress_test
