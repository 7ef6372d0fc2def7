#include "formats/validation/validation_writer.h"

namespace mtfc {

std::string validation_html(const ValidationReport& report) {
  return validation_text(report, 100);
}

}  // namespace mtfc
