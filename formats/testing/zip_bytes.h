#pragma once
// Makes zip archives for tests.

#include <string>
#include <utility>
#include <vector>

namespace mtfc {

/// An archive of members (name and bytes), which are deflated if `packed`.
std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& members, bool packed);

}  // namespace mtfc
