#pragma once
// Reads `ops`: operations, calls and gradients become nodes of a graph, and `assign` an assignment. The results
// of a failed operation are known names without tensors, so that their uses report nothing.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/expression/expression.h"
#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

bool is_float_scalar(const TensorType& type);
/// The hint where a float scalar is needed, to differentiate it, and a tensor of `type` is given.
std::string scalar_hint(const TensorType& type);

/// The maximum nesting of operands.
inline constexpr int kDeepestOperand = 256;

class OperationReader {
 public:
  explicit OperationReader(ModelDraft& draft) : draft_(draft) {}

  /// Reads the list `ops`. Inputs and variables must have been defined.
  void read(const Cursor& ops);

 private:
  /// An operand before the types of literals are known.
  struct Operand {
    Cursor at;
    std::string path;  // its name, such as `h.0`
    TensorId tensor = kNoTensor;
    std::optional<double> literal = std::nullopt;
  };
  struct LiteralType {
    DType dtype = DType::kF32;
    bool own = false;  // fixed by the operand itself rather than by the other operands
  };
  struct Call {
    std::string kind;
    Attributes attributes;
  };
  using Results = std::optional<std::vector<TensorId>>;

  void announce(const Cursor& ops);
  void read_statement(const Cursor& at);
  void blame_keys(const Cursor& at, const std::optional<std::string>& kind);
  void read_definition(const Cursor& at, const std::optional<std::string>& kind);
  void read_assign(const Cursor& at);
  Results read_operation(const Cursor& at, const std::string& kind, const std::string& path,
                         const std::vector<std::string>& names, int depth);
  Results read_kind(const Cursor& at, const std::string& kind, const std::string& path,
                    const std::vector<std::string>& names, int depth);
  Results read_gradients(const Cursor& at, const std::string& path, const std::vector<std::string>& names);
  Results read_call(const Cursor& at, const std::string& kind, const std::string& path,
                    const std::vector<std::string>& names, int depth);
  Results add_checked(const Cursor& at, const Call& call, const std::vector<TensorId>& operands,
                      const std::string& path, const std::vector<std::string>& names);
  std::optional<std::vector<Operand>> read_operands(const Cursor& at, const std::string& path, int depth);
  std::optional<Operand> read_operand(const Cursor& at, const std::string& path, int depth);
  std::optional<Operand> read_nested(const Cursor& at, const std::string& path, int depth);
  /// The types of literals in place of each operand: the operation's own dtype for that operand, or else that
  /// of the first other tensor that is not a bool; bool if all tensors are bool; f32 if there are none.
  std::vector<LiteralType> literal_types(std::span<const OwnDType> own_dtypes,
                                         const std::vector<Operand>& operands) const;
  bool settle_literals(std::vector<Operand>& operands, const std::vector<LiteralType>& types);
  const Symbol* assigned_variable(const Cursor& target, const std::string& name);
  void doubt_relabelling(const Cursor& at, const std::string& kind, const Dims& from, const Dims& to);
  void doubt_logits(const Cursor& at, const CompositeDef& composite, TensorId logits);
  void doubt_contraction(const Cursor& at, const std::vector<TensorId>& operands, const Dims& result);
  bool check_operand_count(const Cursor& at, const std::string& kind, size_t count);
  bool check_results(const Cursor& at, const std::string& kind, const std::vector<TensorId>& results);
  TensorId tensor_named(const Cursor& at);
  std::optional<std::vector<std::string>> read_out(const Cursor& at);

  ModelDraft& draft_;
};

}  // namespace mtfc
