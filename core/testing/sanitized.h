#pragma once
// Says if the tests are built with sanitizers, which make them many times slower. Tests then do less, as long as they
// reach every line with every kind of memory access; the release build runs them in full and checks the numbers.

namespace mtfc {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace mtfc
