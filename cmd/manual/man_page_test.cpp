// Characters that mean something to troff reach the page as they are.

#include "cmd/manual/man_page.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cmd/testing/shell.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::man_page_test {
namespace {

CommandTable odd_table() {
  OptionEntry option;
  option.names = {"--at", "-a"};
  option.takes_value = true;
  option.value = "A|'B'";
  option.help = ".dots 'quotes' \"double\" back\\slash ^hat ~tilde 2×2, and `mill --at` in bold";
  option.group = "Odd - ones";
  OptionEntry argument;
  argument.names = {"FILE"};
  argument.is_argument = argument.takes_value = argument.is_required = true;
  argument.help = "'first'";
  return {"mill",
          "grinds",
          "mill 7",
          {},
          {{"grind", "grind - finely", "'Grinds' it.", "  .mill \\\n'x' \\n", {argument, option}}}};
}

}  // namespace

TEST_CASE("dots, quotes, backslashes and hyphens in a man page") {
  if (outcome_of("command -v groff").code != 0) return skip_without("groff", "man pages are not formatted");
  const ScratchFolder folder;
  const CommandTable table = odd_table();
  const std::string file = folder.write("page", command_man_page(table, table.commands[0]));
  const auto [code, text] = outcome_of(fmt::format("groff -man -Tutf8 -P-cbou -ww '{}' 2>&1", file));
  CAPTURE(text);
  CHECK(code == 0);
  CHECK(text.find("NAME\n       mill-grind - grind - finely\n") != std::string::npos);
  CHECK(text.find("       mill grind [OPTIONS] FILE\n") != std::string::npos);
  CHECK(text.find("       'Grinds' it.\n\n       FILE   'first'\n") != std::string::npos);
  CHECK(text.find("   Odd - ones\n       --at, -a A|'B'\n"
                  "              .dots 'quotes' \"double\" back\\slash ^hat ~tilde 2×2, and mill\n"
                  "              --at in bold\n") != std::string::npos);
  CHECK(text.find("         .mill \\\n         'x' \\n\n") != std::string::npos);
}

}  // namespace mtfc::man_page_test
