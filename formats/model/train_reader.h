#pragma once
// `train`: the loss, the optimizer with its settings, and settings that apply to all updates.

#include <optional>
#include <string>

#include "core/model/model.h"
#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

struct ModelOverrides;

/// Records errors and returns nullopt if there are any. All operations must have been read.
std::optional<TrainSpec> read_train(const Cursor& at, const ModelOverrides& overrides, ModelDraft& draft);

}  // namespace mtfc
