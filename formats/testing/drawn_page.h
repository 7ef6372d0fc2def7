#pragma once
// For tests of HTML pages: the data that a page holds, and the markup that its scripts draw from these.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mtfc {

nlohmann::json page_data(const std::string& page);
/// The scripts of a page, as one text.
std::string page_script(const std::string& page);

/// Whether there is an engine that runs scripts: node.
bool has_script_engine();
/// What a script prints; the test fails if it throws.
std::string printed_by(const std::string& script);
/// What the scripts of the page draw in a browser.
std::string drawn(const std::string& page);

}  // namespace mtfc
