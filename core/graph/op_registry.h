#pragma once
// Lookup of operations and composites by name. The lists are generated from the files of core/ops/,
// core/op_tables/ and core/composites/.

#include <string_view>
#include <vector>

#include "core/graph/op_def.h"

namespace mtfc {

/// In ascending order of names.
const std::vector<const OpDef*>& all_ops();
const std::vector<const CompositeDef*>& all_composites();

/// nullptr if there is none.
const OpDef* find_op(std::string_view name);
const CompositeDef* find_composite(std::string_view name);
/// The signature of the operation or composite `name`, or nullptr.
const Signature* find_signature(std::string_view name);
/// The names that a model may use: operations and composites together.
std::vector<std::string> operation_names();

/// Like find_op, but throws InternalError if there is none.
const OpDef& op_named(std::string_view name);

}  // namespace mtfc
