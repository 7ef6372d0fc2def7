#pragma once
// The params and dims of a model share one name space of numbers, each given as a number or as an expression
// over the others, in any order. A param may also be a list of numbers, which stand for as many operands and which no
// expression uses. Everything is computed when the scope is constructed. A call of a block has
// a scope of its own, in which the block's formal dimensions mean dimensions of the model:
//
//   block "ffn": dims {"hidden": "d_ff"}, params {"rate": 0}     dim("hidden") is d_ff=2048
//                                                                "hidden * 2" is 4096

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensors/shape.h"
#include "formats/expression/expression.h"
#include "formats/json/cursor.h"

namespace mtfc {

/// A name that every expression of a model may use: 1 in `decode` and the blocks that it calls, and 0 elsewhere. A
/// block of both tells by it what only one of them has.
inline constexpr std::string_view kDecoding = "decoding";

/// The objects `params` and `dims` of a file; either may be absent.
struct ScopePart {
  std::optional<Cursor> params, dims;
};

/// The values that a call of a block gives to its names.
struct BlockNames {
  std::vector<std::pair<std::string, Dim>> dims;  // formal dimensions, and the model's that they mean
  std::optional<Cursor> params;                   // the defaults
  std::map<std::string, Number> bound;            // given by the call
};

class ModelScope {
 public:
  /// Reads the first of `parts`, the model's own, and those of included files, whose definitions count only
  /// if the model has none. `sets` (NAME=VALUE, the last one for a name counts) replace definitions in files.
  /// Records errors in `sink`: cycles as their chain, dimensions that are not positive integers, unknown
  /// names. A definition in an included file that uses a name which nobody defines is left out: a part of a library
  /// that the model does not use may need dimensions that the model does not have.
  ModelScope(const std::vector<ScopePart>& parts, const std::vector<std::string>& sets, DiagnosticSink& sink);
  /// The scope of a call of a block in `model`, or of `decode`. The names of `model` are visible unless this scope
  /// defines the same name.
  ModelScope(const ModelScope& model, const BlockNames& names, DiagnosticSink& sink);

  ModelScope(const ModelScope&) = delete;
  ModelScope& operator=(const ModelScope&) = delete;

  /// Every dimension of the model, in the order of the file.
  const Dims& dims() const { return dims_; }
  /// The model's dimension that `name` is or means, or nullptr.
  const Dim* dim(std::string_view name) const;
  /// The names that dim() knows.
  std::vector<std::string> dim_names() const;
  /// Returns whether `name` is a param or a dimension.
  bool is_known(std::string_view name) const;
  /// Returns whether the definition of `name` is wrong, which has been reported.
  bool is_broken(std::string_view name) const;
  /// The numbers of the param `name`, or nullptr if it is no list.
  const std::vector<double>* list(std::string_view name) const;
  std::map<std::string, double> params() const;
  /// The hint for a name that is not known: why an included file's definition of it is left out, or a similar one of
  /// `known`.
  std::string hint_for(std::string_view name, const std::vector<std::string>& known) const;
  /// Looks up params and dims; a broken one throws an ExpressionError without a message. The scope must
  /// outlive it.
  const NameLookup& lookup() const { return lookup_; }

 private:
  enum class State { kNew, kOpen, kDone, kFailed };
  struct Definition {
    std::string name;
    bool is_dim = false;
    size_t dim = 0;          // of a dimension: its position in dims_
    size_t part = 0;         // index of the part that it comes from
    Location location;       // location of the value
    bool in_string = false;  // the value is a string in the file: offsets count from its quote
    std::string text;        // text of the expression; "" for a number
    std::string written;     // the text in the file in either case
    std::optional<Expression> expression;
    State state = State::kNew;
    Number value = int64_t{0};
    std::optional<std::vector<double>> list;
  };

  void declare(const Cursor& list, bool is_dim, size_t part);
  bool is_settled(const NamedCursor& member, bool is_dim, size_t part);
  void apply(const std::string& set);
  void set_list(Definition& definition, const Cursor& at);
  void set_expression(Definition& definition, const std::string& text);
  void leave_out_unusable();
  void compute_all();
  void compute(size_t first);
  void finish(Definition& definition);
  void fail(Definition& definition, std::string message, std::string hint = "", size_t offset = 0);
  void report_cycle(const std::vector<std::pair<size_t, size_t>>& open, size_t again);
  std::vector<std::string> names() const;
  Definition& define(const NamedCursor& member, bool is_dim, size_t part);

  DiagnosticSink& sink_;
  std::vector<Definition> definitions_;  // in the order of the file
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, std::string, std::less<>> left_out_;  // the names of definitions, and why
  NameLookup lookup_;
  Dims dims_;  // in a block's scope, the dimensions that its formal ones mean
  std::vector<std::string> formals_;
  const ModelScope* model_ = nullptr;  // set in a block's scope
};

}  // namespace mtfc
