#pragma once
// Makes PNG files for tests.

#include <cstdint>
#include <string>

namespace mtfc {

/// The colour types of the format.
inline constexpr int kGreyPng = 0, kColourPng = 2, kTransparentPng = 6;

/// A file with pixels of 8 bits per channel, row by row.
std::string png_bytes(uint32_t width, uint32_t height, int colours, const std::string& pixels);

}  // namespace mtfc
