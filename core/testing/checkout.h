#pragma once

namespace mtfc {

/// The folder of the source, and the program that the tests start. Only checkout.cpp contains these paths, so that a
/// compiler cache serves checkouts in different folders.
extern const char* const kSourceFolder;
extern const char* const kTestedProgram;

}  // namespace mtfc
