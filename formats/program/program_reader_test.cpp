#include "formats/program/program_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/compile/pipeline.h"
#include "core/cost/time_model.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/layout/layout_reader.h"
#include "formats/model/model_reader.h"
#include "formats/program/program_writer.h"

namespace mtfc::program_reader_test {
namespace {

std::string saved(const std::string& model, const std::string& mesh, const std::string& rules) {
  const std::string path = std::string(kSourceFolder) + "/" + model;
  std::vector<Diagnostic> warnings;
  LayoutSources layout;
  layout.mesh = mesh;
  layout.rules = rules;
  return program_json(compile(read_model(contents(path), model, {}, warnings), read_layout(layout), {}));
}

// A program with all kinds of steps.
std::string example() {
  return saved("models/mnist.json", "rows:2,cols:2", "batch:rows,hidden:cols");
}

std::string error_of(const std::string& text) {
  try {
    read_program(text, "program.json");
  } catch (const UserError& error) {
    std::string found;
    for (const Diagnostic& diagnostic : error.diagnostics()) found += to_string(diagnostic) + "\n";
    return found;
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a saved program that is read and saved again has the same bytes") {
  for (const auto& [mesh, rules] :
       std::vector<std::pair<std::string, std::string>>{{"all:1", ""},
                                                        {"all:4", "batch:all"},
                                                        {"all:3", "hidden:all"},
                                                        {"rows:2,cols:2", "batch:rows,hidden:cols"}})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(kSourceFolder) + "/models")) {
      if (entry.path().extension() != ".json") continue;
      CAPTURE(entry.path().string());
      std::string text;
      try {
        text = saved("models/" + entry.path().filename().string(), mesh, rules);
      } catch (const UserError&) {
        continue;  // the rules name dimensions of another model
      }
      CHECK(is_program(text));
      CHECK(program_json(read_program(text, "program.json")) == text);
    }
  CHECK(program_json(read_program(example(), "program.json")) == example());
}

TEST_CASE("the order of keys in a program means nothing") {
  // nlohmann::json sorts the keys of every object, as `jq -S` does.
  CHECK(program_json(read_program(nlohmann::json::parse(example()).dump(), "program.json")) == example());
}

TEST_CASE("a model is no program") {
  CHECK_FALSE(is_program(contents(std::string(kSourceFolder) + "/models/mnist.json")));
  CHECK_FALSE(is_program(R"({"mtfc": 1, "doc": "\"mtfc_program\": 1"})"));
  CHECK_FALSE(is_program(""));
  CHECK(is_program("{\"mtfc_program\" : 1}"));
}

TEST_CASE("what is no program of this version says so") {
  CHECK(error_of("{\"mtfc_program\": 7}") ==
        "program.json:1:18: error: /mtfc_program: this is a program of version 7, but this mtfc reads "
        "version 1 "
        "(compile the model again)\n");
  CHECK(error_of("{\"mtfc_program\": 1, \"model\": \"m\"").find("program.json:1:") == 0);
  const std::string cut = example().substr(0, example().size() / 2);
  CHECK(error_of(cut).find("error") != std::string::npos);
}

TEST_CASE("a program that an earlier mtfc saved without needed flops is read, and has no efficiency") {
  const std::string text = example();
  const size_t begin = text.find("\"needed_flops\""), end = text.find("\"inputs\"", begin);
  REQUIRE(begin != std::string::npos);
  const Program earlier = read_program(text.substr(0, begin) + text.substr(end), "program.json");
  const Program now = read_program(text, "program.json");
  Hardware hardware;
  hardware.flops = {{"f32", 1e12}};
  const EntryPoint& train = *now.find("train");
  REQUIRE(train.useful.flops > 0);
  CHECK(useful_seconds_at_peak(now.mesh(), train, hardware) ==
        doctest::Approx(static_cast<double>(train.useful.flops) / 4 / 1e12));
  CHECK(earlier.find("train")->useful.flops == train.useful.flops);
  CHECK(useful_seconds_at_peak(earlier.mesh(), *earlier.find("train"), hardware) == 0);
}

TEST_CASE("a program that was changed is refused where it does not fit") {
  const std::string text = example();
  const auto changed = [&](const std::string& from, const std::string& to) {
    return error_of(replaced(text, from, to));
  };
  CHECK(changed("\"op\":\"einsum\"", "\"op\":\"einsun\"")
            .find("unknown operation 'einsun' (did you mean 'einsum'?)") != std::string::npos);
  CHECK(changed("\"collective\":\"all_reduce\"", "\"collective\":\"all_gather\"") != "no error");
  CHECK(changed("\"op\":\"relu\"", "\"op\":\"reduce_sum\"") != "no error");
  CHECK(changed("\"dtype\":\"f32\"", "\"dtype\":\"f64\"") != "no error");
  CHECK(changed("random:uniform,scale=0.3", "random:uniform,scael=0.3")
            .find("/inputs/0/data: 'scael' is not an option of this source (did you mean 'scale'?)") !=
        std::string::npos);
  CHECK(changed("\"arena_bytes\":", "\"arena_bytes\": 64, \"was\":").find("unknown key 'was'") !=
        std::string::npos);
  CHECK(
      changed("\"f32\": 327270400", "\"f23\": 327270400").find("unknown dtype 'f23' (did you mean 'f32'?)") !=
      std::string::npos);
  // A buffer that is first alive behind the last step.
  const size_t steps = read_program(text, "program.json").entry_points.front().steps.size();
  CHECK(changed("\"first_step\":0", "\"first_step\":" + std::to_string(steps))
            .find("the buffer is alive at steps that do not exist") != std::string::npos);
  // A buffer that is too small for its value.
  const std::string buffer = "\"kind\":\"activation\",\"bytes\":";
  const size_t number = text.find(buffer) + buffer.size(), behind = text.find(',', number);
  CHECK(error_of(text.substr(0, number) + "4" + text.substr(behind)).find("bytes, but its buffer has 4") !=
        std::string::npos);
}

TEST_CASE("keys that are missing or of another kind are said to be") {
  const std::string text = example();
  const auto changed = [&](const std::string& from, const std::string& to) {
    return error_of(replaced(text, from, to));
  };
  CHECK(changed("\"type\":\"dims\"", "\"tipe\":\"dims\"").find("'type' is missing") != std::string::npos);
  CHECK(changed("\"type\":\"dims\"", "\"type\":7").find("expected a string, found a number") !=
        std::string::npos);
  CHECK(changed("\"type\":\"dims\"", "\"type\":\"\"").find("unknown type of attribute ''") !=
        std::string::npos);
  CHECK(changed("\"op\":\"relu\"", "\"op\":\"\"").find("unknown operation ''") != std::string::npos);
}

// Replaces every number of the program in turn by another one: the result must be refused or harmless, never
// a crash.
TEST_CASE("whatever number is changed, the reader decides") {
  const std::string text = example();
  int refused = 0, tried = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool starts =
        std::isdigit(static_cast<unsigned char>(text[at])) &&
        (text[at - 1] == ':' || text[at - 1] == ',' || text[at - 1] == '[' || text[at - 1] == ' ');
    if (!starts || ++tried % 7 != 0) continue;
    size_t end = at;
    while (std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    for (const char* number : {"-1", "0", "3", "64", "1000000000000", "9223372036854775807"}) {
      const std::string problem = error_of(text.substr(0, at) + number + text.substr(end));
      refused += problem != "no error";
    }
  }
  CHECK(tried > 500);
  CHECK(refused > tried / 7 * 3);
}

}  // namespace mtfc::program_reader_test
