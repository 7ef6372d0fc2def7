#include "cmd/testing/shell.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "core/testing/checkout.h"

namespace mtfc {

Outcome outcome_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome found;
  std::array<char, 4096> bytes;
  while (const size_t count = fread(bytes.data(), 1, bytes.size(), pipe))
    found.text.append(bytes.data(), count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) found.code = WEXITSTATUS(status);
  return found;
}

std::string outcome_in_models(const std::string& command) {
  const auto [code, text] = outcome_of(
      fmt::format("cd '{}/models' && MTFC='{}'; {} 2>&1 </dev/null", kSourceFolder, kTestedProgram, command));
  return fmt::format("exit {}: {}", code, text);
}

std::string python_with(const std::string& package) {
  for (const char* name : {"python3", "/usr/bin/python3"})
    if (outcome_of(fmt::format("{} -W ignore -c 'import {}' 2>&1", name, package)).code == 0) return name;
  return "";
}

}  // namespace mtfc
