#pragma once
// The sizes for which a search has found a layout, which its file records: for others, another one may be better.
//
//   "found_for": {"model": "mnist", "sizes": {"batch": 100, "hidden": 1024}}

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/diagnostics/error.h"
#include "core/model/model.h"
#include "formats/json/cursor.h"

namespace mtfc {

struct FoundFor {
  std::string model;
  std::map<std::string, int64_t> sizes = {};  // of all dimensions; and the params that are whole numbers
  Location location = {};                     // in the file of the layout
};

/// Returns what the file of a layout that was found for this model records.
FoundFor found_for(const Model& model);

/// Reads the value of the key "found_for". Records errors in the sink of `at`.
FoundFor read_found_for(const Cursor& at);

/// Returns a note if the model has the recorded name but other sizes. Returns nothing if the sizes are equal or the
/// name is another one.
std::optional<Diagnostic> other_sizes_note(const FoundFor& found, const Model& model);

}  // namespace mtfc
