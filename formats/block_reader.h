#pragma once
// `call` and `repeat`: the operations and variables of a block, made anew in the graph under the call's
// scope.
//
//   {"op": "repeat", "times": 2, "block": "layer", "in": "x", "out": "y"}
//     layer_0/… from x,  layer_1/… from the output of layer_0;  y is the output of layer_1

#include <optional>
#include <string>
#include <vector>

#include "formats/cursor.h"
#include "formats/model_draft.h"

namespace mtfc {

/// Calls nest at most this deep, and all calls of a model make at most so many operations and variables.
inline constexpr size_t kDeepestCall = 64;
inline constexpr int64_t kMostExpanded = 250'000;

class BlockReader {
 public:
  explicit BlockReader(ModelDraft& draft) : draft_(draft) {}

  using Results = std::optional<std::vector<TensorId>>;

  /// The block that the statement at `at`, of kind `call` or `repeat`, names: with an error where there is
  /// none, or where the block is being read already.
  const Block* named(const Cursor& at);
  /// The outputs of the calls that the statement makes; nothing, with errors, where they can't be read.
  Results read(const Cursor& at, const Block& block, const std::vector<TensorId>& operands);

 private:
  std::optional<BlockNames> read_bindings(const Cursor& at, const Block& block);
  bool bind_defaults(const Cursor& at, const Block& block, BlockNames& names);
  std::optional<std::string> read_scope(const Cursor& at, const Block& block);
  bool claim(const Cursor& at, const std::string& scope);
  Results repeat(const Cursor& at, const Block& block, const BlockNames& names, std::vector<TensorId> carried,
                 const std::string& scope);
  Results expand(const Cursor& at, const Block& block, const BlockNames& names,
                 const std::vector<TensorId>& operands, const std::string& scope);
  Results read_body(const Block& block);
  bool check_size(const Cursor& at, const Block& block, int64_t times);

  ModelDraft& draft_;
};

}  // namespace mtfc
