#pragma once
// `train`: the loss and the optimizer with its settings.

#include <optional>

#include "core/model.h"
#include "formats/cursor.h"
#include "formats/model_draft.h"

namespace mtfc {

/// Records errors and returns nothing where there were any. All operations have been read.
std::optional<TrainSpec> read_train(const Cursor& at, ModelDraft& draft);

}  // namespace mtfc
