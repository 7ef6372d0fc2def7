// Option values as they reach the variables, --help, and every kind of mistake that is told in words of our own:
// CLI11's errors are told apart by comparison with errors that it makes, so that each kind is pinned here.

#include "cmd/options/command_line.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cmd/options/option_checks.h"
#include "core/diagnostics/error.h"

namespace mtfc::command_line_test {
namespace {

struct Values {
  std::string file;
  std::string form = "text";
  int threads = 4;
  int64_t bytes = -1;
  uint64_t seed = 0;
  double scale = 0.5;
  std::optional<std::string> mesh;
  std::optional<int64_t> top;
  std::optional<double> rate;
  std::vector<std::string> sets;
  std::vector<std::string> dims;
  bool quiet = false;
};

// `mill grind FILE` with an option of every kind, and `mill clean` without any.
class Mill {
 public:
  Mill() : parser_("mill", "grinds files", "mill 7") {
    line_.add_option("FILE", values_.file, "what to grind").required();
    line_.add_option("--form", values_.form, "how").check(one_of({"text", "json"})).show_default();
    line_.add_option("--threads T", values_.threads, "how many").check(whole_number(1));
    line_.add_option("--bytes WORD", values_.bytes, "as words").transform(read_word);
    line_.add_option("--seed", values_.seed, "of the draw");
    line_.add_option("--scale", values_.scale, "factor");
    line_.add_option("--mesh A:N", values_.mesh, "width of the mesh");
    line_.add_option("--top", values_.top, "how many to show");
    line_.add_option("--rate", values_.rate, "speed");
    line_.add_option("--set NAME=VALUE", values_.sets, "repeatable");
    line_.add_option("--dims", values_.dims, "a list").split_at(',');
    line_.add_option("-o FORM", values_.form, "the same as --form");
    line_.add_flag("--quiet,-q", values_.quiet, "no noise");
    line_.add_version_flag("mill 7");
    line_.set_examples("  mill grind wheat");
    parser_.add_command("clean", "sweep the floor");
  }

  Values values(const std::vector<std::string>& arguments) {
    CHECK(parser_.parse(arguments).command == "grind");
    return values_;
  }
  // The error of the arguments, or "".
  std::string mistake(const std::vector<std::string>& arguments) {
    try {
      parser_.parse(arguments);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  CommandParser& parser() { return parser_; }
  CommandLine& line() { return line_; }

 private:
  static std::string read_word(std::string& text) {
    if (text != "dozen") return "expected dozen, found " + text;
    text = "12";
    return "";
  }

  Values values_;
  CommandParser parser_;
  CommandLine line_ = parser_.add_command("grind", "grind a file");
};

std::string mistake(const std::vector<std::string>& arguments) {
  return Mill().mistake(arguments);
}

std::string answer(const std::vector<std::string>& arguments) {
  const Request request = Mill().parser().parse(arguments);
  CHECK(request.command == "");
  return request.answer.value_or("none");
}

}  // namespace

TEST_CASE("values reach variables of every type") {
  const Values values = Mill().values({"grind", "wheat", "--form", "json", "--threads", "2", "--bytes",
                                       "dozen", "--seed", "18446744073709551615", "--scale", "0.25", "--mesh",
                                       "a:2", "--top", "-3", "--rate", "1e3", "--quiet"});
  CHECK(values.file == "wheat");
  CHECK(values.form == "json");
  CHECK(values.threads == 2);
  CHECK(values.bytes == 12);
  CHECK(values.seed == 18446744073709551615U);
  CHECK(values.scale == 0.25);
  CHECK(values.mesh == "a:2");
  CHECK(values.top == -3);
  CHECK(values.rate == 1000);
  CHECK(values.quiet);
}

TEST_CASE("options that are not given leave their variables alone") {
  Mill mill;
  const Values values = mill.values({"grind", "wheat", "--seed", "0"});
  CHECK(values.form == "text");
  CHECK(values.threads == 4);
  CHECK(values.bytes == -1);
  CHECK(!values.mesh);
  CHECK(!values.top);
  CHECK(!values.rate);
  CHECK(values.sets.empty());
  CHECK(!values.quiet);
  CHECK(mill.line().option("--seed").is_given());
  CHECK(!mill.line().option("--scale").is_given());
}

TEST_CASE("a vector takes one value each time, or a list where it is split") {
  const Values values =
      Mill().values({"grind", "--set", "a=1", "wheat", "--set=b=1,2", "--dims", "x,y", "--dims", "z"});
  CHECK(values.sets == std::vector<std::string>{"a=1", "b=1,2"});
  CHECK(values.dims == std::vector<std::string>{"x", "y", "z"});
  CHECK(mistake({"grind", "wheat", "--set", "a=1", "b=2"}) ==
        "error: unexpected argument 'b=2' (see mill grind --help)");
}

TEST_CASE("no command, --version and --help") {
  const Request none = Mill().parser().parse({});
  CHECK(none.command == "");
  CHECK(!none.answer);
  CHECK(answer({"--version"}) == "mill 7\n");
  CHECK(answer({"grind", "--version"}) == "mill 7\n");
  CHECK(answer({"--help"}) == Mill().parser().help());
  CHECK(answer({"--help"}).starts_with("grinds files\nUsage: mill [OPTIONS] [SUBCOMMAND]\n"));
  const std::string help = answer({"grind", "wheat", "--help"});
  CHECK(help.starts_with("grind a file\nUsage: mill grind [OPTIONS] FILE\n"));
  CHECK(help.find("  --form TEXT:{text,json}=text\n") != std::string::npos);
  CHECK(help.find("  --set NAME=VALUE ...        repeatable\n") != std::string::npos);
  CHECK(help.ends_with("\nExamples:\n  mill grind wheat\n"));
}

TEST_CASE("a missing value, also of the last of several short options") {
  CHECK(mistake({"grind", "wheat", "--mesh"}) == "error: --mesh needs a value, A:N (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "--set"}) ==
        "error: --set needs a value, NAME=VALUE (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "--dims"}) == "error: --dims needs a value, TEXT (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "--form"}) ==
        "error: --form needs a value, TEXT:{text,json} (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "-qo"}) == "error: -o needs a value, FORM (see mill grind --help)");
  // It is found before the values are looked at.
  CHECK(mistake({"grind", "--mesh", "a:1", "--mesh", "a:2", "--mesh"}) ==
        "error: --mesh needs a value, A:N (see mill grind --help)");
}

TEST_CASE("a repeated option and a missing argument") {
  CHECK(mistake({"grind", "wheat", "--mesh", "a:1", "--mesh", "a:2"}) ==
        "error: --mesh is given more than once (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "-q", "-ojson", "-ojson", "-ojson"}) ==
        "error: -o is given more than once (see mill grind --help)");
  CHECK(mistake({"grind", "--quiet"}) == "error: FILE is missing (see mill grind --help)");
}

TEST_CASE("a command says what to do in place of an option that it has not, and of one that is repeated") {
  Mill mill;
  mill.line().add_hint("--speed", "use --rate VALUE");
  mill.line().add_hint("-n", "use --threads VALUE");
  mill.line().option("--mesh").hint_if_repeated("join them: --mesh a:1,b:2");
  CHECK(mill.mistake({"grind", "wheat", "--speed", "0.5"}) ==
        "error: there is no option '--speed' (use --rate 0.5)");
  CHECK(mill.mistake({"grind", "wheat", "--speed=1e-3", "--top", "3"}) ==
        "error: there is no option '--speed' (use --rate 1e-3)");
  // The word after the option is no number, so the hint keeps VALUE.
  CHECK(mill.mistake({"grind", "--speed", "high", "wheat"}) ==
        "error: there is no option '--speed' (use --rate VALUE)");
  // Nor is it missing because an argument has taken it, or because another argument is missing.
  CHECK(mill.mistake({"grind", "--speed", "3"}) == "error: there is no option '--speed' (use --rate 3)");
  CHECK(mill.mistake({"grind", "--speed=3"}) == "error: there is no option '--speed' (use --rate 3)");
  CHECK(mill.mistake({"grind", "wheat", "-n", "4"}) == "error: there is no option '-n' (use --threads 4)");
  CHECK(mill.mistake({"clean", "--speed", "3"}) ==
        "error: there is no option '--speed' (see mill clean --help)");
  CHECK(mill.mistake({"grind", "wheat", "--mesh", "a:1", "--mesh", "b:2"}) ==
        "error: --mesh is given more than once (join them: --mesh a:1,b:2)");
}

TEST_CASE("an option of other commands is answered with their names") {
  CommandParser parser("mill", "", "mill 1");
  std::string speed;
  parser.add_command("sell", "");
  const auto hint = [&] {
    try {
      parser.parse({"sell", "--speed", "3"});
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(hint() == "error: there is no option '--speed' (see mill sell --help)");
  const std::pair<const char*, const char*> more[] = {{"cut", "the command cut has it"},
                                                      {"dry", "the commands cut and dry have it"},
                                                      {"grind", "the commands cut, dry and grind have it"},
                                                      {"pack", "the commands cut, dry and 2 others have it"}};
  for (const auto& [command, said] : more) {
    parser.add_command(command, "").add_option("--speed", speed, "");
    CHECK(hint() == fmt::format("error: there is no option '--speed' ({})", said));
  }
}

TEST_CASE("a command says what to do with an argument that it does not take") {
  Mill mill;
  mill.line().set_hint_of_extra(
      [](const std::string& word) { return word == "rye" ? "grind one corn at a time" : ""; });
  CHECK(mill.mistake({"grind", "wheat", "rye"}) ==
        "error: unexpected argument 'rye' (grind one corn at a time)");
  CHECK(mill.mistake({"grind", "wheat", "oats"}) ==
        "error: unexpected argument 'oats' (see mill grind --help)");
}

TEST_CASE("checks and rewrites refuse a value in their own words") {
  CHECK(mistake({"grind", "wheat", "--threads", "0"}) ==
        "error: --threads: expected 1 or more, found 0 (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "--bytes", "score"}) ==
        "error: --bytes: expected dozen, found score (see mill grind --help)");
}

TEST_CASE("an empty value is a mistake, unless the option says that it is right") {
  const auto empty = [](const std::string& name) {
    return "error: " + name +
           ": the value is empty, as it is where a variable of the shell is not set (see mill grind --help)";
  };
  for (const std::string name :
       {"--mesh", "--form", "--threads", "--bytes", "--scale", "--rate", "--set", "--dims"}) {
    CHECK(mistake({"grind", "wheat", name, ""}) == empty(name));
    CHECK(mistake({"grind", "wheat", name + "="}) == empty(name));
    CHECK(mistake({"grind", name + "=", "wheat"}) == empty(name));
  }
  CHECK(mistake({"grind", "wheat", "-o", ""}) == empty("-o"));
  CHECK(mistake({"grind", ""}) == empty("FILE"));
  CHECK(mistake({"grind", "wheat", "--quiet="}) == "");
  Mill mill;
  mill.line().option("--mesh").may_be_empty();
  const Values values = mill.values({"grind", "--mesh=", "wheat"});
  CHECK(values.mesh == "");
  CHECK(values.file == "wheat");
}

TEST_CASE("words that nothing takes") {
  CHECK(mistake({"gring", "wheat"}) == "error: there is no command 'gring' (did you mean 'grind'?)");
  CHECK(mistake({"bread.json"}) ==
        "error: there is no command 'bread.json' (a command comes before its file: mill COMMAND bread.json)");
  CHECK(mistake({"gri"}) == "error: there is no command 'gri' (did you mean 'grind'?)");
  CHECK(mistake({"sweep"}) == "error: there is no command 'sweep' (mill clean: sweep the floor)");
  CHECK(mistake({"bake"}) == "error: there is no command 'bake' (see mill --help)");
  CHECK(mistake({"--quiet", "grind", "wheat"}) ==
        "error: the option '--quiet' belongs after the command (as in mill grind --quiet)");
  CHECK(mistake({"grind", "wheat", "--thread=3", "4"}) ==
        "error: there is no option '--thread' (did you mean '--threads'?)");
  CHECK(mistake({"clean", "--mesh", "a:2"}) ==
        "error: there is no option '--mesh' (the command grind has it)");
  CHECK(mistake({"clean", "--broom"}) == "error: there is no option '--broom' (see mill clean --help)");
  CHECK(mistake({"clean", "all"}) == "error: unexpected argument 'all' (see mill clean --help)");
}

TEST_CASE("mistakes that CLI11 words") {
  CHECK(mistake({"bake", "grind", "wheat"}) ==
        "error: The following argument was not expected: bake (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "--quiet=perhaps"}) ==
        "error: Could not convert: --quiet = perhaps (see mill grind --help)");
  CHECK(mistake({"grind", "wheat", "--scale", "half"}) ==
        "error: Could not convert: --scale = half (see mill grind --help)");
}

TEST_CASE("the words that have been given can be given again") {
  using Words = std::vector<std::string>;
  const auto given = [](const Words& arguments, const Words& without = {}) {
    Mill mill;
    mill.values(arguments);
    return mill.line().given(without);
  };
  CHECK(given({"grind", "wheat"}) == Words{"wheat"});
  CHECK(given({"grind", "--threads=2", "-q", "wheat", "--set", "a=1", "--mesh", "--top", "--set", "b=2"}) ==
        Words{"--threads", "2", "--quiet", "wheat", "--set", "a=1", "--mesh", "--top", "--set", "b=2"});
  CHECK(given({"grind", "a b", "--threads", "2", "--set", "--threads", "-o", "json"}, {"--threads", "-o"}) ==
        Words{"a b", "--set", "--threads"});
  CHECK(given({"grind", "x", "--bytes", "dozen", "--dims", "a,b", "--dims", "c"}) ==
        Words{"x", "--bytes", "12", "--dims", "a,b,c"});
}

TEST_CASE("the table of commands has what the parser understands") {
  Mill mill;
  const CommandTable table = mill.line().table();
  CHECK(table.program == "mill");
  CHECK(table.version == "mill 7");
  REQUIRE(table.commands.size() == 2);
  CHECK(table.find("clean")->summary == "sweep the floor");
  CHECK(table.find("bake") == nullptr);
  const CommandEntry& grind = *table.find("grind");
  CHECK(grind.examples == "  mill grind wheat");
  const auto option = [&](const std::string& name) {
    for (const OptionEntry& entry : grind.options)
      for (const std::string& one : entry.names)
        if (one == name) return entry;
    FAIL("no option ", name);
    return OptionEntry();
  };
  CHECK(grind.options.front().names == std::vector<std::string>{"FILE"});
  CHECK(grind.options.front().is_argument);
  CHECK(grind.options.front().is_required);
  CHECK(grind.options.front().files == OptionEntry::Files::kAll);
  CHECK(option("--form").choices == std::vector<std::string>{"text", "json"});
  CHECK(option("--form").default_value == "text");
  CHECK(option("--form").takes_value);
  CHECK(!option("--form").is_repeatable);
  CHECK(option("--set").is_repeatable);
  CHECK(option("--set").value == "NAME=VALUE");
  CHECK(option("--set").files == OptionEntry::Files::kNone);
  CHECK(option("-q").names == std::vector<std::string>{"--quiet", "-q"});
  CHECK(!option("-q").takes_value);
  CHECK(option("--help").group == "General");
}

TEST_CASE("a list of options shows the beginning of a long help text") {
  CHECK(brief("how; and why") == "how; and why");
  const std::string much = " and so on, and so on, and so on, and so on, and so on, and so on";
  CHECK(brief("end the run if a rank waits;" + much) == "end the run if a rank waits");
  CHECK(brief("b: in very few bits (not many):" + much) == "b: in very few bits");
  CHECK(brief("nothing ends it" + much) == "nothing ends it" + much);
}

TEST_CASE("options are shown in their groups, in one order") {
  Mill mill;
  std::string file, layout;
  CommandLine sift = mill.parser().add_command("sift", "sift a file");
  sift.set_group(OptionGroup::kOutput);
  sift.add_option("-o FILE.json", file, "where to");
  sift.set_group(OptionGroup::kModel);
  sift.add_option("--layout", layout, "rules");
  mill.parser().set_width(80);
  CHECK(sift.help_of("sift") ==
        "sift a file\n"
        "Usage: mill sift [OPTIONS]\n"
        "\n"
        "Model and layout:\n"
        "  --layout TEXT             rules\n"
        "\n"
        "Output:\n"
        "  -o FILE.json              where to\n"
        "\n"
        "General:\n"
        "  -h,--help                 Print this help message and exit\n"
        "\n");
  const CommandTable table = sift.table();
  CHECK(table.find("sift")->options[1].ending == ".json");
}

}  // namespace mtfc::command_line_test
