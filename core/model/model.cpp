#include "core/model/model.h"

namespace mtfc {

std::string to_string(InitKind kind) {
  switch (kind) {
    case InitKind::kConstant:
      return "constant";
    case InitKind::kNormal:
      return "normal";
    case InitKind::kTruncatedNormal:
      return "truncated_normal";
    case InitKind::kUniform:
      return "uniform";
  }
  return "";
}

}  // namespace mtfc
