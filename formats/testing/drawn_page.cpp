#include "formats/testing/drawn_page.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/testing/scratch_folder.h"

namespace mtfc {
namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const size_t to = text.find(end, from);
  REQUIRE(to != std::string::npos);
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::string data_text(const std::string& page) {
  return between(page, "<script type=\"application/json\" id=data>", "</script>");
}

}  // namespace

nlohmann::json page_data(const std::string& page) {
  return nlohmann::json::parse(data_text(page));
}

std::string page_script(const std::string& page) {
  return between(page, "<script>", "</script>");
}

bool has_script_engine() {
  return std::system("node --version >/dev/null 2>&1") == 0;
}

std::string printed_by(const std::string& script) {
  const ScratchFolder folder;
  const std::string command = "node '" + folder.write("script.js", script) + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> bytes;
  while (const size_t count = fread(bytes.data(), 1, bytes.size(), pipe)) text.append(bytes.data(), count);
  const bool is_done = pclose(pipe) == 0;
  CHECK_MESSAGE(is_done, text);
  return text;
}

std::string drawn(const std::string& page) {
  // As a browser puts the texts of the data into the markup, but escaped.
  return printed_by(page_script(page) + R"js(
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (letter) => escapes[letter]);
console.log(filledIn(pageOf()js" +
                    data_text(page) + ").text, escaped));\n");
}

}  // namespace mtfc
