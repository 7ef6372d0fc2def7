#pragma once
// `call` and `repeat` (and what `while` shares with them, loop_reader.h): the operations and variables of a
// block, made anew in the graph under the call's scope.
//
//   {"op": "repeat", "times": 2, "block": "layer", "in": "x", "out": "y"}
//     layer_0/… from x,  layer_1/… from the output of layer_0;  y is the output of layer_1

#include <optional>
#include <string>
#include <vector>

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// Calls nest at most this deep, and all calls of a model make at most so many operations and variables.
inline constexpr size_t kDeepestCall = 64;
inline constexpr int64_t kMostExpanded = 250'000;

class BlockReader {
 public:
  explicit BlockReader(ModelDraft& draft) : draft_(draft) {}

  using Results = std::optional<std::vector<TensorId>>;

  /// The block that the statement at `at` names under `key`: with an error where there is none, or where the
  /// block is being read already.
  const Block* named(const Cursor& at, const char* key = "block");
  /// The outputs of the calls that the statement makes; nothing, with errors, where they can't be read.
  Results read(const Cursor& at, const Block& block, const std::vector<TensorId>& operands);

  /// What `bind` gives `block`; it may have names for `other` too, where the statement calls two.
  std::optional<BlockNames> read_bindings(const Cursor& at, const Block& block, const Block* other = nullptr);
  std::optional<std::string> read_scope(const Cursor& at, const Block& block);
  /// `times`, not negative.
  std::optional<int64_t> read_times(const Cursor& at);
  bool check_operands(const Cursor& at, const Block& block, size_t found);
  /// Whether the outputs of a round can be inputs of the next.
  bool check_repeatable(const Cursor& at, const Block& block);
  /// Whether so many calls more can be made.
  bool check_size(const Cursor& at, const Block& block, int64_t times);
  /// Takes the scope, as seen from where the statement stands.
  bool claim(const Cursor& at, const std::string& scope);
  /// One call: names of operations stand behind `scope`, those of variables behind `variables`.
  struct Scopes {
    std::string scope, variables;
  };
  Results expand(const Cursor& at, const Block& block, const BlockNames& names,
                 const std::vector<TensorId>& operands, const Scopes& scopes);

 private:
  bool bind_defaults(const Cursor& at, const Block& block, BlockNames& names);
  Results repeat(const Cursor& at, const Block& block, const BlockNames& names, std::vector<TensorId> carried,
                 const std::string& scope);
  Results read_body(const Block& block);

  ModelDraft& draft_;
};

}  // namespace mtfc
