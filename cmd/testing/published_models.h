#pragma once
// The small published models of testdata/families/, a folder each, with config.json and weights.

#include <string>
#include <vector>

namespace mtfc {

/// testdata/families/
const std::string& families_folder();

/// The names of its folders, in alphabetical order.
std::vector<std::string> published_models();

}  // namespace mtfc
