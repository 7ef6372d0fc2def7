#include "cmd/options/version.h"

namespace mtfc {

std::string version_text() {
  return std::string("mtfc ") + MTFC_VERSION;
}

}  // namespace mtfc
