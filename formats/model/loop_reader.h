#pragma once
// `while`: with `times`, repeated calls of a block that share their variables; with `cond`, a loop of the
// graph, whose condition and body are read into graphs of their own.
//
//   {"op": "while", "times": 2, "body": "ffn", "in": "x", "out": "y"}
//     ffn_0/… from x,  ffn_1/… from the output of ffn_0, both with the variables ffn/…
//   {"op": "while", "cond": "small", "body": "ffn", "in": "x", "out": "y"}
//     [x, ffn/w] -> loop { condition: ffn/cond/…; body: ffn/… } -> [y]

#include <optional>
#include <string>
#include <vector>

#include "formats/model/block_reader.h"

namespace mtfc {

struct LoopBlocks {
  const Block* condition = nullptr;  // nullptr if `times` gives the count
  const Block* body = nullptr;
};

class LoopReader {
 public:
  using Results = BlockReader::Results;

  explicit LoopReader(ModelDraft& draft) : draft_(draft), blocks_(draft) {}

  /// The blocks that the statement names. If one of them is missing, records an error and leaves `body`
  /// empty.
  LoopBlocks named(const Cursor& at);
  /// The tensors that the last iteration gives, named `names` if a loop of the graph makes them.
  Results read(const Cursor& at, const LoopBlocks& blocks, const std::vector<TensorId>& operands,
               const std::vector<std::string>& names);

 private:
  /// A statement whose parts have been checked.
  struct Statement {
    const Cursor& at;
    const LoopBlocks& blocks;
    BlockNames condition_names, body_names;
    std::string scope;
  };
  Results unroll(const Statement& loop, std::vector<TensorId> carried);
  Results add_loop(const Statement& loop, const std::vector<TensorId>& operands,
                   const std::vector<std::string>& names);
  std::optional<LoopPart> read_part(const Statement& loop, const Block& block, const BlockNames& names,
                                    const std::string& scope);
  bool check_carried(const Statement& loop, const std::vector<TensorType>& carried,
                     const std::vector<TensorType>& given);
  bool check_condition(const Statement& loop, const LoopPart& condition);

  ModelDraft& draft_;
  BlockReader blocks_;
};

}  // namespace mtfc
