#include "cmd/terminal/color.h"

namespace mtfc {
namespace {

bool on_output = false, on_error = false;

}  // namespace

void set_colors(bool standard_output, bool standard_error) {
  on_output = standard_output;
  on_error = standard_error;
}

bool has_colors(int stream) {
  return stream == 1 ? on_output : on_error;
}

}  // namespace mtfc
