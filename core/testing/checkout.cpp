#include "core/testing/checkout.h"

namespace mtfc {

const char* const kSourceFolder = MTFC_SOURCE_DIR;
const char* const kTestedProgram = MTFC_BINARY;

}  // namespace mtfc
