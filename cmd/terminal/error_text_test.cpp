#include "cmd/terminal/error_text.h"

#include <doctest/doctest.h>

#include <new>

#include "core/diagnostics/error.h"

namespace mtfc::error_text_test {
namespace {

// As main ends with it: `exit 1: TEXT`.
std::string ending(const std::exception& error, bool color = false) {
  return "exit " + std::to_string(exit_code(error)) + ": " + error_text(error, color);
}

TEST_CASE("an error ends the program with the exit code and the words of who is to blame") {
  CHECK(ending(UserError(
            std::vector<Diagnostic>{{{"m.json", 3, 7, "/ops/0"}, "wrong", "mend it"}, {{}, "worse", ""}})) ==
        "exit 2: m.json:3:7: error: /ops/0: wrong (mend it)\nmtfc: error: worse\n");
  CHECK(ending(RunError("the disk is full")) == "exit 1: mtfc: error: the disk is full\n");
  CHECK(ending(std::bad_alloc()) == "exit 1: mtfc: error: out of memory\n");
  CHECK(ending(RunError("no"), true) == "exit 1: mtfc: \033[1;31merror:\033[0m no\n");
}

TEST_CASE("every other error is a bug that asks to be reported") {
  const std::string expected =
      "exit 3: mtfc: internal error: 'add' is misused\n"
      "This is a bug in mtfc. Please report it with the model, the layout and the command.\n";
  CHECK(ending(InternalError("'add' is misused")) == expected);
  CHECK(ending(Error("'add' is misused")) == expected);
  CHECK(ending(std::logic_error("'add' is misused")) == expected);
}

}  // namespace
}  // namespace mtfc::error_text_test
