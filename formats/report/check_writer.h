#pragma once
// Writes what `mtfc check` has found.

#include <string>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

/// `model.json: no errors, 2 warnings`, with a line break.
std::string check_text(const std::string& model, const std::vector<Diagnostic>& found);

/// {"mtfc_check": 1, "model": "model.json", "errors": 0, "warnings": 1, "notes": 0, "diagnostics": [{"severity":
/// "warning", "message": …, "hint": …, "file": …, "line": …, "column": …, "pointer": …}]}. What is not known is left
/// out.
std::string check_json(const std::string& model, const std::vector<Diagnostic>& found);
std::string check_schema();

}  // namespace mtfc
