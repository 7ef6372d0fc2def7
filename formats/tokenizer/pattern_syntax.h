#pragma once
// The expressions of tokenizers are written for Oniguruma, with the syntax of Ruby. Most of it means the same to PCRE2;
// this rewrites what does not:
//
//   \h         [0-9a-fA-F]                                in PCRE2, \h is a blank
//   \s         [\t-\r\x{85}\p{Z}]                         PCRE2 has U+180E as well
//   \w         [\p{Alphabetic}\p{M}\p{Nd}\p{Pc}...]       PCRE2 has other letters
//   [:punct:]  \p{P}\p{S}                                and other classes of POSIX
//   \p{Han}    \p{sc:Han}                                 PCRE2 would take the extended script
//   [a-z&&[^x]]   (?:(?=[^x])[a-z])                       PCRE2 has no intersections
//   (?m:.)     (?s:.)

#include <string>
#include <string_view>

namespace mtfc {

/// Throws PatternError for what can't be rewritten.
std::string pcre2_syntax(std::string_view expression);

/// The end of the class that begins with `[` at `begin`: the place behind its `]`. Throws PatternError without one.
size_t end_of_class(std::string_view expression, size_t begin);

}  // namespace mtfc
