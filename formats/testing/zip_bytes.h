#pragma once
// Makes zip archives and compressed bytes for tests.

#include <string>
#include <utility>
#include <vector>

namespace mtfc {

/// The bytes compressed by zlib, in the format that its `window_bits` stand for.
std::string deflated_bytes(const std::string& bytes, int window_bits);

/// An archive of members (name and bytes), which are deflated if `packed`.
std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& members, bool packed);

}  // namespace mtfc
