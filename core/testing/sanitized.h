#pragma once
// Whether the tests are built with sanitizers. There they are many times slower, and are to reach every line with
// every kind of memory access; that the numbers are right is for the release build, which runs them in full.

namespace mtfc {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace mtfc
