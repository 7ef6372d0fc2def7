#pragma once
// The Markdown documents of the checkout, whose links, commands and examples tests try.

#include <string>
#include <vector>

namespace mtfc {

/// All documents, as paths in the checkout: those of the top folder and of the folders beside it.
std::vector<std::string> documents();

/// The lines of the reference of the file formats, which consists of the documents in formats/. An empty line stands
/// between two documents.
std::vector<std::string> lines_of_reference();

/// The texts between ```json and ``` in this reference.
std::vector<std::string> examples_of_reference();

}  // namespace mtfc
