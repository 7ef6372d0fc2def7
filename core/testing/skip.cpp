#include "core/testing/skip.h"

#include <doctest/doctest.h>

#include <cstdlib>

namespace mtfc {
namespace {

std::string setting_text(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

}  // namespace

void skip_without(const std::string& need, const std::string& consequence) {
  const bool may_lack =
      ("," + setting_text("MTFC_MAY_LACK") + ",").find("," + need + ",") != std::string::npos;
  if (setting_text("MTFC_REQUIRE_ALL").empty() || may_lack)
    MESSAGE("SKIPPED without " << need << ": " << consequence);
  else
    FAIL_CHECK("there must be " << need << " here: " << consequence);
}

}  // namespace mtfc
