#include "cmd/options/entry_choice.h"

#include "core/diagnostics/error.h"

namespace mtfc {

std::string chosen_entry(const std::string& wanted, const std::function<bool(std::string_view)>& has) {
  const std::string name = !wanted.empty() ? wanted : has("train") ? "train" : "evaluate";
  if (has(name)) return name;
  if (name == "decode")
    throw UserError("the model has no entry point 'decode'", "its file has no \"decode\"");
  if (name == "encode")
    throw UserError("the model has no entry point 'encode'",
                    "it has no \"decode\" with caches that hold tensors of the model");
  throw UserError("the model has no entry point 'train'", "it neither trains nor assigns variables");
}

}  // namespace mtfc
