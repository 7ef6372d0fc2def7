#pragma once
// `call` and `repeat` (and the parts that `while` shares with them, loop_reader.h): the operations and
// variables of a block are made anew in the graph under the call's scope.
//
//   {"op": "repeat", "times": 2, "block": "layer", "in": "x", "out": "y"}
//     layer_0/… from x,  layer_1/… from the output of layer_0;  y is the output of layer_1
//
// With "index": "i", the expressions in `bind` of a repeat may use the number of the call, i = 0, 1, ….
//
// In `decode`, a call stands for that of the model in the same scope: both have the same variables. A param that it
// does not bind has the value that it has in the model's call.

#include <optional>
#include <string>
#include <vector>

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// The maximum depth of calls, and the maximum number of operations and variables that all calls of a model
/// make.
inline constexpr size_t kDeepestCall = 64;
inline constexpr int64_t kMostExpanded = 250'000;

/// A name for the number of the call, which the expressions in `bind` of a repeat may use.
struct CallIndex {
  std::string name;
  int64_t value = 0;
};

class BlockReader {
 public:
  explicit BlockReader(ModelDraft& draft) : draft_(draft) {}

  using Results = std::optional<std::vector<TensorId>>;

  /// The block that the statement at `at` names under `key`; records an error and returns nullptr if there is
  /// none, or if the block is being read already.
  const Block* named(const Cursor& at, const char* key = "block");
  /// The outputs of the calls that the statement makes; records errors and returns nullopt if they can't be
  /// read.
  Results read(const Cursor& at, const Block& block, const std::vector<TensorId>& operands);

  /// The names that `bind` gives to `block`; it may contain names for `other` too, if the statement calls two
  /// blocks.
  std::optional<BlockNames> read_bindings(const Cursor& at, const Block& block, const Block* other = nullptr,
                                          const CallIndex& index = {});
  std::optional<std::string> read_scope(const Cursor& at, const Block& block);
  /// Reads `times`, which must not be negative.
  std::optional<int64_t> read_times(const Cursor& at);
  bool check_operands(const Cursor& at, const Block& block, size_t found);
  /// Checks that the outputs of one iteration can be the inputs of the next.
  bool check_repeatable(const Cursor& at, const Block& block);
  /// Checks that `times` more calls of the block stay within the limits.
  bool check_size(const Cursor& at, const Block& block, int64_t times);
  /// Claims the scope, relative to the block that contains the statement.
  bool claim(const Cursor& at, const std::string& scope);
  /// The scopes of one call: prefixes of the names of its operations, and of its variables.
  struct Scopes {
    std::string scope, variables;
  };
  Results expand(const Cursor& at, const Block& block, const BlockNames& names,
                 const std::vector<TensorId>& operands, const Scopes& scopes);
  /// The leaf of a part that stands for an input of its block.
  struct PartLeaf {
    size_t number = 0;
    TensorType type;
  };
  /// Reads the block into a graph of its own, for a loop of the draft that has been opened.
  std::optional<LoopPart> read_part(const Cursor& at, const Block& block, const BlockNames& names,
                                    const std::vector<PartLeaf>& leaves, const std::string& scope);

 private:
  void take_settings(const Cursor& at, const Block& block, const std::string& scope, BlockNames& names);
  void keep_settings(const Block& block, const std::string& scope, const ModelScope& names);
  bool bind_defaults(const Cursor& at, const Block& block, BlockNames& names);
  std::optional<CallIndex> read_index(const Cursor& at);
  Results repeat(const Cursor& at, const Block& block, std::vector<TensorId> carried,
                 const std::string& scope);
  Results read_body(const Block& block);

  // The backward block of the block that is being read, and what it reads and gives.
  struct Backward;
  Results with_backward(const Block& block, const BlockNames& names, std::vector<TensorId> results);
  bool find_inputs(const Block& block, Backward& backward);
  bool find_targets(const Block& block, Backward& backward);
  std::optional<BlockNames> backward_names(const Block& block, const Block& backward,
                                           const BlockNames& names);
  std::optional<LoopPart> read_backward(const Block& block, const BlockNames& names, Backward& backward);

  ModelDraft& draft_;
};

}  // namespace mtfc
