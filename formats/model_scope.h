#pragma once
// The params and dims of a model: one name space of numbers, each given as a number or as an expression over
// the others, in any order. Everything is computed when the scope is made.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape.h"
#include "formats/cursor.h"
#include "formats/expression.h"

namespace mtfc {

class ModelScope {
 public:
  /// Reads the objects `params` and `dims` (either may be absent), with `sets` (NAME=VALUE, the last of a
  /// name counts) in place of the file's definitions. Errors go to `sink`: cycles as their chain, dimensions
  /// that are no positive integer, unknown names.
  ModelScope(const std::optional<Cursor>& params, const std::optional<Cursor>& dims,
             const std::vector<std::string>& sets, DiagnosticSink& sink);

  ModelScope(const ModelScope&) = delete;
  ModelScope& operator=(const ModelScope&) = delete;

  /// Every dimension, in the order of the file.
  const Dims& dims() const { return dims_; }
  const Dim* dim(std::string_view name) const;
  /// Whether the definition of `name` is wrong, which has been reported.
  bool is_broken(std::string_view name) const;
  std::map<std::string, double> params() const;
  /// Over params and dims; a broken one throws an ExpressionError without a message. The scope must outlive
  /// it.
  const NameLookup& lookup() const { return lookup_; }

 private:
  enum class State { kNew, kOpen, kDone, kFailed };
  struct Definition {
    std::string name;
    bool is_dim = false;
    Location location;       // of the value
    bool in_string = false;  // the value is a string in the file: offsets count from its quote
    std::string text;        // of the expression, "" for a number
    std::optional<Expression> expression;
    State state = State::kNew;
    Number value = int64_t{0};
  };

  void declare(const Cursor& list, bool is_dim);
  void apply(const std::string& set);
  void set_expression(Definition& definition, const std::string& text);
  void compute_all();
  void compute(size_t first);
  void finish(Definition& definition);
  void fail(Definition& definition, std::string message, std::string hint = "", size_t offset = 0);
  void report_cycle(const std::vector<std::pair<size_t, size_t>>& open, size_t again);
  std::vector<std::string> names() const;
  Definition& define(const NamedCursor& member, bool is_dim);

  DiagnosticSink& sink_;
  std::vector<Definition> definitions_;  // in the order of the file
  std::map<std::string, size_t, std::less<>> by_name_;
  NameLookup lookup_;
  Dims dims_;
};

}  // namespace mtfc
