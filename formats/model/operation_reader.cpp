#include "formats/model/operation_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/mixed_dims.h"
#include "formats/expression/number_reader.h"
#include "formats/model/block_reader.h"
#include "formats/model/literal.h"
#include "formats/model/loop_reader.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"
#include "formats/reference/operation_reference.h"

namespace mtfc {
namespace {

bool is_call(const std::string& kind) {
  return kind == "call" || kind == "repeat" || kind == "while";
}

bool is_kind(const JsonValue& value) {
  return value.kind == JsonKind::kString && (find_signature(value.text) || value.text == "assign" ||
                                             value.text == "gradients" || is_call(value.text));
}

// The keys of operations of this kind, or of any kind.
std::vector<std::string> keys_of(const std::optional<std::string>& kind) {
  std::vector<std::string> keys = {"op", "in", "out", "when", "sharding", "precision", "doc"};
  std::vector<std::string> kinds = operation_names();
  if (kind && find_signature(*kind)) kinds = {*kind};
  for (const std::string& name : kinds)
    for (const AttributeSpec& spec : find_signature(name)->attributes)
      if (!spec.by_compiler) keys.emplace_back(spec.name);
  if (!kind || !find_signature(*kind))
    keys.insert(keys.end(),
                {"of", "variable", "block", "bind", "scope", "times", "cond", "body", "recompute", "index"});
  return keys;
}

// The location that an OpError is about.
Cursor blamed(const Cursor& at, const OpError& error) {
  if (!error.attribute.empty())
    if (const auto attribute = at.find(error.attribute)) return *attribute;
  if (error.operand >= 0) {
    const auto in = at.find("in");
    const auto index = static_cast<size_t>(error.operand);
    if (in && in->is(JsonKind::kArray) && index < in->value().items.size()) return in->item(index);
    if (in) return *in;
  }
  return at;
}

// `'batch' and 'length'`
std::string quoted_names(const Dims& dims) {
  std::string text;
  for (const Dim& dim : dims) text += fmt::format("{}'{}'", text.empty() ? "" : " and ", dim.name);
  return text;
}

}  // namespace

bool is_float_scalar(const TensorType& type) {
  return type.dims.empty() && is_float(type.dtype);
}

std::string scalar_hint(const TensorType& type) {
  if (is_float(type.dtype)) return "use reduce_mean to make one";
  return fmt::format("a tensor of type {} has no gradient: compute the scalar from floats",
                     to_string(type.dtype));
}

std::optional<bool> is_chosen(const Cursor& at, const ModelDraft& draft, std::string_view key) {
  const std::optional<Cursor> when = at.find(key);
  if (!when) return true;
  const std::optional<Number> value = read_number(*when, draft.names().lookup());
  if (!value) return std::nullopt;
  return to_double(*value) != 0;
}

namespace {

class OperationReader {
 public:
  explicit OperationReader(ModelDraft& draft) : draft_(draft) {}

  void read(const Cursor& ops) {
    announce(ops);
    for (const Cursor& at : ops.items("a list of operations")) read_statement(at);
  }

 private:
  // An operand before the types of literals are known.
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

  void announce(const Cursor& ops) {
    if (!ops.is(JsonKind::kArray)) return;
    for (const JsonValue& op : ops.value().items) {
      const JsonValue* out = op.find("out");
      if (!out) continue;
      if (out->kind == JsonKind::kString) draft_.symbols.announce(out->text, op.place.line);
      for (const JsonValue& name : out->items)
        if (name.kind == JsonKind::kString) draft_.symbols.announce(name.text, op.place.line);
    }
  }

  std::optional<std::vector<std::string>> read_out(const Cursor& at) {
    const std::optional<Cursor> out = at.require("out");
    if (!out) return std::nullopt;
    std::vector<std::string> names;
    if (out->is(JsonKind::kString)) return std::vector<std::string>{out->value().text};
    for (const Cursor& item : out->items("a name or a list of names"))
      if (const auto name = item.string("a name")) names.push_back(*name);
    if (out->is(JsonKind::kArray) && out->value().items.empty()) out->error("'out' names no result");
    if (names.empty()) return std::nullopt;
    return names;
  }

  void read_statement(const Cursor& at) {
    if (!at.is(JsonKind::kObject)) return at.expected("an operation");
    const std::optional<Cursor> op = at.require("op");
    const std::optional<std::string> kind = op ? op->string("the name of an operation") : std::nullopt;
    if (kind == "assign") return read_assign(at);
    if (!op || !at.find("out")) blame_keys(at, kind);
    read_definition(at, kind);
  }

  // If 'op' or 'out' is missing, an unknown key may be a misspelling of it. The names it gives are then known,
  // without tensors.
  void blame_keys(const Cursor& at, const std::optional<std::string>& kind) {
    const std::vector<std::string> known = keys_of(kind);
    for (const NamedCursor& member : at.members()) {
      if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
      std::vector<std::string> names;
      if (member.value.is(JsonKind::kString)) names = {member.value.value().text};
      for (const JsonValue& item : member.value.value().items)
        if (item.kind == JsonKind::kString) names.push_back(item.text);
      std::string hint = did_you_mean(member.key, known);
      if (!at.find("op") && is_kind(member.value.value())) {
        hint = "did you mean 'op'?";
      } else if (!at.find("out") && !names.empty()) {
        hint = "did you mean 'out'?";
        for (const std::string& name : names)
          draft_.symbols.define_path(draft_.symbols.full(name), member.value.location(), kNoTensor);
      }
      draft_.sink.error(member.key_location, fmt::format("unknown key '{}'", member.key), hint);
    }
  }

  void read_definition(const Cursor& at, const std::optional<std::string>& kind) {
    const std::optional<std::vector<std::string>> names = read_out(at);
    const std::optional<bool> chosen = is_chosen(at, draft_);
    if (!names) return;
    bool complete = chosen.has_value() && kind.has_value();
    for (const std::string& name : *names) {
      if (chosen == false)
        draft_.symbols.note_removed(name);
      else if (!draft_.symbols.define(name, SymbolKind::kOperation, at.find("out")->location()))
        complete = false;
    }
    if (!complete || chosen == false) return;
    for (const std::string& name : *names) draft_.symbols.open(name);
    std::vector<std::string> full;
    for (const std::string& name : *names) full.push_back(draft_.symbols.full(name));
    const Results results = read_operation(at, *kind, full.front(), full, 0);
    for (const std::string& name : *names) draft_.symbols.close(name);
    if (!results) return;
    if (results->size() != names->size())
      return at.find("out")->error(fmt::format(
          "'{}' has {} result{}, but {} named here", *kind, results->size(), results->size() == 1 ? "" : "s",
          names->size() == 1 ? "1 is" : fmt::format("{} are", names->size())));
    for (size_t i = 0; i < names->size(); ++i) draft_.symbols.bind((*names)[i], (*results)[i]);
  }

  Results read_operation(const Cursor& at, const std::string& kind, const std::string& path,
                         const std::vector<std::string>& names, int depth) {
    Results results = read_kind(at, kind, path, names, depth);
    if (results && results->size() == names.size()) {
      std::vector<Dims> dims;
      for (const TensorId id : *results) dims.push_back(draft_.builder.dims(id));
      read_sharding(at, names, dims, draft_);
      if (const auto precision = at.find("precision"))
        if (const std::optional<DType> dtype = read_mixed_dtype(*precision))
          for (const std::string& name : names) draft_.precision.push_back({name, *dtype});
    }
    return results;
  }

  Results read_kind(const Cursor& at, const std::string& kind, const std::string& path,
                    const std::vector<std::string>& names, int depth) {
    if (kind == "gradients") return read_gradients(at, path, names);
    if (is_call(kind)) return read_call(at, kind, path, names, depth);
    const Signature* signature = find_signature(kind);
    if (!signature) {
      at.find("op")->error(fmt::format("unknown operation '{}'", kind),
                           draft_.blocks.find(kind)
                               ? fmt::format("a block runs by \"op\": \"call\", \"block\": \"{}\"", kind)
                               : operation_hint(kind));
      return std::nullopt;
    }
    const std::optional<Attributes> attributes = read_attributes(at, *signature, draft_.names());
    std::optional<std::vector<Operand>> operands = read_operands(at, path, depth);
    if (!operands || !check_operand_count(at, kind, operands->size())) return std::nullopt;
    if (!attributes || !settle_literals(*operands, literal_types(signature->own_dtypes, *operands)))
      return std::nullopt;
    std::vector<TensorId> ids;
    for (const Operand& operand : *operands) ids.push_back(operand.tensor);
    return add_checked(at, {kind, *attributes}, ids, path, names);
  }

  bool check_operand_count(const Cursor& at, const std::string& kind, size_t count) {
    const Signature& signature = *find_signature(kind);
    const int found = static_cast<int>(count);
    const int least = signature.min_operands, most = signature.max_operands;
    if (found >= least && (most < 0 || found <= most)) return true;
    std::string range = fmt::format("{}", least);
    if (most < 0) range = fmt::format("at least {}", least);
    if (most > least) range = fmt::format("{} to {}", least, most);
    const bool one = (most < 0 ? least : most) == 1;
    at.find("in").value_or(at).error(
        fmt::format("'{}' takes {} operand{}, found {}", kind, range, one ? "" : "s", found));
    return false;
  }

  std::optional<std::vector<Operand>> read_operands(const Cursor& at, const std::string& path, int depth) {
    const std::optional<Cursor> in = at.find("in");
    std::vector<Cursor> list;
    if (in && in->is(JsonKind::kArray))
      list = in->items();
    else if (in)
      list = {*in};
    std::vector<Operand> operands;
    bool is_whole = true;
    for (const Cursor& item : list) {
      const auto place = [&] { return fmt::format("{}.{}", path, operands.size()); };
      if (const std::vector<double>* numbers = numbers_named(item)) {
        if (!has_room(item, numbers->size())) return std::nullopt;
        for (const double number : *numbers) operands.push_back(Operand{item, place(), kNoTensor, number});
        continue;
      }
      auto operand = read_operand(item, place(), depth);
      is_whole = is_whole && operand;
      operands.push_back(operand ? std::move(*operand) : Operand{item, place()});
    }
    if (!is_whole) return std::nullopt;
    return operands;
  }

  // Lists that are used again and again can make more constants than any memory holds.
  bool has_room(const Cursor& at, size_t numbers) {
    draft_.expanded += static_cast<int64_t>(numbers);
    if (draft_.expanded <= kMostExpanded) return true;
    at.error(fmt::format("the lists and blocks of the model make more than {} operations", kMostExpanded));
    return false;
  }

  // The numbers of a param that is a list, unless a tensor has the same name.
  const std::vector<double>* numbers_named(const Cursor& at) const {
    if (!at.is(JsonKind::kString) || draft_.symbols.is_known(at.value().text)) return nullptr;
    return draft_.names().list(at.value().text);
  }

  std::optional<Operand> read_operand(const Cursor& at, const std::string& path, int depth) {
    switch (at.kind()) {
      case JsonKind::kNumber:
        return Operand{at, path, kNoTensor, at.value().number()};
      case JsonKind::kString: {
        const std::string& name = at.value().text;
        if (!draft_.symbols.is_known(name) && draft_.names().is_known(name)) {
          at.error(fmt::format("'{}' is a {}, not a tensor", name,
                               draft_.names().dim(name) ? "dimension" : "param"),
                   fmt::format("write {{\"expr\": \"{}\"}} for its value", name));
          return std::nullopt;
        }
        const TensorId tensor = tensor_named(at);
        if (tensor == kNoTensor) return std::nullopt;
        return Operand{at, path, tensor};
      }
      case JsonKind::kObject:
        break;
      default:
        at.expected("a tensor, a number or an operation");
        return std::nullopt;
    }
    if (const auto expression = at.find("expr")) {
      at.check_keys({"expr", "doc"});
      const std::optional<double> value = read_real(*expression, draft_.names().lookup());
      if (!value) return std::nullopt;
      return Operand{at, path, kNoTensor, *value};
    }
    return read_nested(at, path, depth + 1);
  }

  std::optional<Operand> read_nested(const Cursor& at, const std::string& path, int depth) {
    if (depth > kDeepestOperand) {
      at.error(fmt::format("operands nest more than {} deep", kDeepestOperand));
      return std::nullopt;
    }
    for (const char* key : {"out", "when"})
      if (const auto cursor = at.find(key)) {
        cursor->error(fmt::format("a nested operation has no '{}'", key), "move it to a line of its own");
        return std::nullopt;
      }
    const std::optional<Cursor> op = at.require("op");
    const std::optional<std::string> kind = op ? op->string("the name of an operation") : std::nullopt;
    if (!kind) return std::nullopt;
    if (*kind == "assign" || *kind == "gradients") {
      op->error(fmt::format("'{}' can't be nested", *kind), "move it to a line of its own");
      return std::nullopt;
    }
    const Results results = read_operation(at, *kind, path, {path}, depth);
    if (!results) return std::nullopt;
    if (results->size() != 1) {
      op->error(fmt::format("'{}' has {} results; a nested operation needs one", *kind, results->size()));
      return std::nullopt;
    }
    draft_.symbols.define_path(path, at.location(), results->front());
    return Operand{at, path, results->front()};
  }

  TensorId tensor_named(const Cursor& at) {
    const std::optional<std::string> name = at.string("the name of a tensor");
    if (!name) return kNoTensor;
    const Symbol* symbol = draft_.symbols.use(*name, at.location());
    return symbol ? draft_.tensor_of(*symbol) : kNoTensor;
  }

  // The types of literals in place of each operand: the operation's own dtype for that operand, or else that
  // of the first other tensor that is not a bool; bool if all tensors are bool; f32 if there are none.
  std::vector<LiteralType> literal_types(std::span<const OwnDType> own_dtypes,
                                         const std::vector<Operand>& operands) const {
    std::vector<LiteralType> types(operands.size());
    for (const OwnDType& own : own_dtypes) {
      const auto operand = static_cast<size_t>(own.operand);
      if (operand < types.size()) types[operand] = {own.literal, true};  // an optional operand may be absent
    }
    std::optional<DType> shared;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (types[i].own || operands[i].tensor == kNoTensor || (shared && *shared != DType::kBool)) continue;
      shared = draft_.builder.type(operands[i].tensor).dtype;
    }
    for (LiteralType& type : types)
      if (!type.own) type.dtype = shared.value_or(DType::kF32);
    return types;
  }

  bool settle_literals(std::vector<Operand>& operands, const std::vector<LiteralType>& types) {
    bool good = true;
    for (size_t i = 0; i < operands.size(); ++i) {
      Operand& operand = operands[i];
      const auto [dtype, own] = types[i];
      if (!operand.literal) continue;
      if (const auto problem = literal_problem(*operand.literal, dtype)) {
        const std::string hint = own ? fmt::format("a literal here is of type {}", to_string(dtype))
                                     : "a literal takes the type of the other operands";
        operand.at.error(problem->what(), problem->hint.empty() ? hint : problem->hint);
        good = false;
        continue;
      }
      const Attributes attributes = {{"value", *operand.literal}, {"dtype", dtype}};
      draft_.builder.set_origin({operand.path, operand.at.location(), Phase::kForward});
      operand.tensor = draft_.builder.add(op_named("constant"), {}, attributes, {operand.path}).front();
      draft_.builder.mark_from_model(operand.tensor);
      draft_.symbols.define_path(operand.path, operand.at.location(), operand.tensor);
    }
    return good;
  }

  Results add_checked(const Cursor& at, const Call& call, const std::vector<TensorId>& operands,
                      const std::string& path, const std::vector<std::string>& names) {
    const auto& [kind, attributes] = call;
    draft_.builder.set_origin({path, at.location(), Phase::kForward});
    try {
      const OpDef* op = find_op(kind);
      const std::vector<TensorId> results =
          op ? draft_.builder.add_stated(*op, operands, attributes, names)
             : draft_.builder.add_stated(*find_composite(kind), operands, attributes, names);
      if (!check_results(at, kind, results)) return std::nullopt;
      if (op && op->family == Family::kRelabel && attributes.has("dims"))
        doubt_relabelling(at, kind, draft_.builder.dims(operands.front()),
                          draft_.builder.dims(results.front()));
      if (op && op->family == Family::kContraction && attributes.has("over"))
        doubt_contraction(at, operands, draft_.builder.dims(results.front()));
      if (!op && find_composite(kind)->reads_logits)
        doubt_logits(at, *find_composite(kind), operands.front());
      for (const TensorId id : results) draft_.builder.mark_from_model(id);
      return results;
    } catch (const OpError& error) {
      // An error that begins with "needs" reads as a sentence only with the operation's name.
      const std::string message = error.what();
      const bool needs = message.starts_with("needs ");
      blamed(at, error).error(needs ? fmt::format("'{}' {}", kind, message) : message, error.hint);
      return std::nullopt;
    }
  }

  // Warns of a relabelling that mixes the elements of dimensions that it seems to keep.
  void doubt_relabelling(const Cursor& at, const std::string& kind, const Dims& from, const Dims& to) {
    const MixedDims mixed = mixed_dims(from, to);
    if (mixed.names.empty()) return;
    const std::string names = fmt::format("'{}'", fmt::join(mixed.names, "' and '"));
    std::string hint = fmt::format("if this is meant, rename {} first", names);
    if (!mixed.order.empty())
      hint = fmt::format(
          "transpose to [{}] {}; {}", fmt::join(mixed.order, ", "),
          same_set(from, to) ? "instead, which moves elements along with their dimensions" : "first", hint);
    draft_.sink.warning(at.find("dims")->location(),
                        fmt::format("'{}' keeps the row-major order of all elements: from [{}] to [{}], "
                                    "those along {} are mixed with others",
                                    kind, to_string(from), to_string(to), names),
                        hint);
  }

  // Warns of an operation on logits that is given a distribution, and so takes the softmax of a softmax.
  void doubt_logits(const Cursor& at, const CompositeDef& composite, TensorId logits) {
    const Tensor& tensor = draft_.builder.graph().tensor(logits);
    const Node& producer = draft_.builder.graph().node(tensor.node);
    if (producer.kind != NodeKind::kComposite || !producer.composite->gives_distribution) return;
    draft_.sink.warning(
        at.location(),
        fmt::format("'{}' computes the softmax of its first operand, but '{}' is the result of a {} already",
                    composite.signature.name, tensor.name, producer.composite->signature.name),
        "give it the logits, which are the operand of the softmax");
  }

  // Warns of a product that sums over dimensions of one operand alone, and not over one that both have, where each has
  // dimensions of its own: x[batch, io] * w[io, hidden] over hidden.
  void doubt_contraction(const Cursor& at, const std::vector<TensorId>& operands, const Dims& result) {
    if (operands.size() != 2) return;
    for (const size_t i : {0, 1}) {
      const Dims own = draft_.builder.dims(operands[i]), other = draft_.builder.dims(operands[1 - i]);
      const Dims alone = without(own, other), shared = without(own, alone);
      const Dims summed = without(unite(own, other), result);
      if (summed.empty() || !without(summed, alone).empty()) continue;
      if (shared.empty() || without(other, own).empty()) continue;
      draft_.sink.warning(
          at.find("over")->location(),
          fmt::format("the sum over {}, which is in the {} operand alone, keeps {}, which both operands have",
                      quoted_names(summed), i == 0 ? "first" : "second", quoted_names(shared)),
          fmt::format(
              "\"over\": \"{}\" makes the usual product; if this is meant, reduce_sum of the operand says so",
              shared.front().name));
    }
  }

  // From here on, sizes and flops are computed in int64_t.
  bool check_results(const Cursor& at, const std::string& kind, const std::vector<TensorId>& results) {
    for (const TensorId id : results)
      if (const std::string problem = size_problem(draft_.builder.dims(id)); !problem.empty()) {
        at.error(problem);
        return false;
      }
    const OpDef* op = find_op(kind);
    if (!op || op->family != Family::kContraction) return true;
    Dims all;
    const Graph& graph = draft_.builder.graph();
    for (const TensorId id : graph.producer(results.front()).operands) all = unite(all, graph.type(id).dims);
    if (size_problem(all).empty()) return true;
    at.error(fmt::format("a contraction of dimensions [{}] is too large", to_string(all)));
    return false;
  }

  Results read_call(const Cursor& at, const std::string& kind, const std::string& path,
                    const std::vector<std::string>& names, int depth) {
    const bool loops = kind == "while";
    std::vector<std::string> keys = {"op", "in", "out", "when", "sharding", "doc"};
    if (loops)
      keys.insert(keys.end(), {"cond", "body"});
    else
      keys.insert(keys.end(), {"block", "recompute"});
    keys.insert(keys.end(), {"bind", "scope"});
    if (kind != "call") keys.emplace_back("times");
    if (kind == "repeat") keys.emplace_back("index");
    const size_t before = at.sink().error_count();
    at.check_keys(keys);
    LoopReader loop_reader(draft_);
    BlockReader reader(draft_);
    const LoopBlocks blocks = loops ? loop_reader.named(at) : LoopBlocks{nullptr, reader.named(at)};
    std::optional<std::vector<Operand>> operands = read_operands(at, path, depth);
    if (!blocks.body || !operands || at.sink().error_count() > before) return std::nullopt;
    if (!settle_literals(*operands, literal_types({}, *operands))) return std::nullopt;
    std::vector<TensorId> ids;
    for (const Operand& operand : *operands) ids.push_back(operand.tensor);
    const Results results =
        loops ? loop_reader.read(at, blocks, ids, names) : reader.read(at, *blocks.body, ids);
    for (size_t i = 0; results && i < results->size() && i < names.size(); ++i)
      if (draft_.builder.is_free(names[i])) draft_.builder.alias((*results)[i], names[i]);
    return results;
  }

  Results read_gradients(const Cursor& at, const std::string& path, const std::vector<std::string>& names) {
    const size_t before = at.sink().error_count();
    at.check_keys({"op", "of", "in", "out", "when", "sharding", "doc"});
    const std::optional<Cursor> of_cursor = at.require("of");
    const std::optional<Cursor> in_cursor = at.require("in");
    if (!of_cursor || !in_cursor) return std::nullopt;
    const TensorId of = tensor_named(*of_cursor);
    bool complete = of != kNoTensor;
    if (complete && !is_float_scalar(draft_.builder.type(of)))
      of_cursor->error(fmt::format("only a float scalar has gradients, but '{}' is {}",
                                   of_cursor->value().text, to_string(draft_.builder.type(of))),
                       scalar_hint(draft_.builder.type(of)));
    const std::vector<Cursor> list = in_cursor->is(JsonKind::kString)
                                         ? std::vector<Cursor>{*in_cursor}
                                         : in_cursor->items("a tensor or a list of tensors");
    std::vector<TensorId> in;
    for (const Cursor& item : list) {
      in.push_back(tensor_named(item));
      complete = complete && in.back() != kNoTensor;
      if (in.back() != kNoTensor && !is_float(draft_.builder.type(in.back()).dtype))
        item.error(fmt::format("'{}' is {}, which has no gradient", item.value().text,
                               to_string(draft_.builder.type(in.back()))));
    }
    if (!complete || at.sink().error_count() > before) return std::nullopt;
    draft_.builder.set_origin({path, at.location(), Phase::kForward});
    const std::vector<TensorId> results = draft_.builder.add_gradients(of, in, names);
    for (const TensorId id : results) draft_.builder.mark_from_model(id);
    return results;
  }

  const Symbol* assigned_variable(const Cursor& target, const std::string& name) {
    const Symbol* symbol = draft_.symbols.find(name);
    if (!symbol || symbol->kind != SymbolKind::kVariable) {
      target.error(fmt::format("'{}' is not a variable", name),
                   did_you_mean(name, all_names(draft_.model.variables)));
      return nullptr;
    }
    if (const auto other = draft_.assigned.find(draft_.symbols.full(name)); other != draft_.assigned.end()) {
      target.error(fmt::format("'{}' is assigned twice", name),
                   fmt::format("the other assignment is in line {}", other->second));
      return nullptr;
    }
    return draft_.symbols.use(name, target.location());
  }

  void read_assign(const Cursor& at) {
    at.check_keys({"op", "variable", "in", "when", "doc"});
    if (!is_chosen(at, draft_).value_or(false)) return;
    if (draft_.rounds > 0)
      return at.error("a block that 'while' repeats, or a backward block, can't assign variables",
                      "carry the value from round to round, and assign the loop's result");
    const std::optional<Cursor> target = at.require("variable");
    const std::optional<Cursor> in = at.require("in");
    const std::optional<std::string> name = target ? target->string("the name of a variable") : std::nullopt;
    if (!name || !in) return;
    const Symbol* symbol = assigned_variable(*target, *name);
    const std::string full = draft_.symbols.full(*name);
    std::optional<std::vector<Operand>> operands = read_operands(at, full + "/assign", 0);
    if (!operands || !symbol || symbol->tensor == kNoTensor) return;
    if (operands->size() != 1)
      return in->error(fmt::format("'assign' takes 1 operand, found {}", operands->size()));
    const TensorType wanted = draft_.builder.type(symbol->tensor);
    if (!settle_literals(*operands, {{wanted.dtype}})) return;
    const Operand& operand = operands->front();
    const TensorType& found = draft_.builder.type(operand.tensor);
    if (found != wanted)
      return operand.at.error(
          fmt::format("'{}' is {}, but the value is {}", *name, to_string(wanted), to_string(found)));
    draft_.assigned.emplace(full, at.location().line);
    draft_.model.assignments.push_back({full, operand.tensor, at.location()});
  }

  ModelDraft& draft_;
};

}  // namespace

void read_operations(const Cursor& ops, ModelDraft& draft) {
  OperationReader(draft).read(ops);
}

}  // namespace mtfc
