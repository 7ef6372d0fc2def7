#include "formats/reference/operation_reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/suggest.h"
#include "core/graph/op_registry.h"
#include "core/graph/operation_text.h"
#include "formats/reference/foreign_names.h"

namespace mtfc {
namespace {

// Breaks `text` at blanks; lines after the first are indented.
std::string wrapped(const std::string& first, const std::string& text, size_t indent, int width) {
  const size_t limit = std::max<size_t>(static_cast<size_t>(std::max(width, 0)), indent + 24);
  std::string result = first, line = first;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + word.size() + 1 > limit && line.size() > indent) {
      result += "\n" + std::string(indent, ' ');
      line = std::string(indent, ' ');
    } else if (line.size() > indent) {
      result += " ";
      line += " ";
    }
    result += word;
    line += word;
    at = end + 1;
  }
  return result + "\n";
}

// A line `  name  text` for each entry, with all texts in one column.
std::string listed(const std::vector<std::pair<std::string, std::string>>& entries, int width) {
  size_t longest = 0;
  for (const auto& [name, about] : entries) longest = std::max(longest, name.size());
  std::string text;
  for (const auto& [name, about] : entries)
    text += wrapped(fmt::format("  {:<{}}  ", name, longest), about, longest + 4, width);
  return text;
}

std::string family_name(Family family) {
  static constexpr auto kNames =
      std::to_array<EnumName<Family>>({{Family::kElementwise, "element by element"},
                                       {Family::kElementwiseChecked, "element by element"},
                                       {Family::kReduction, "along dimensions"},
                                       {Family::kContraction, "products"},
                                       {Family::kAttention, "attention"},
                                       {Family::kConvolution, "convolution"},
                                       {Family::kPooling, "pooling"},
                                       {Family::kRelabel, "changing dimensions, not elements"},
                                       {Family::kIndexing, "by index"},
                                       {Family::kMovement, "moving elements"},
                                       {Family::kGenerator, "without operands"}});
  return std::string(name_in(kNames, family));
}

std::string type_text(AttributeType type) {
  static constexpr auto kNames = std::to_array<EnumName<AttributeType>>(
      {{AttributeType::kFlag, "true, false or an expression"},
       {AttributeType::kInteger, "a whole number"},
       {AttributeType::kNumber, "a number"},
       {AttributeType::kText, "a string"},
       {AttributeType::kDType, "a dtype"},
       {AttributeType::kDim, "a dimension"},
       {AttributeType::kDims, "a list of dimensions"},
       {AttributeType::kOver, "a dimension or a list of them"},
       {AttributeType::kParts, "a dimension, or a list in which a dimension may appear several times"},
       {AttributeType::kRenaming, "an object {old: new}"},
       {AttributeType::kWindows, "a list of windows, one for each spatial dimension"}});
  return std::string(name_in(kNames, type));
}

std::string operand_count(const Signature& signature) {
  const int least = signature.min_operands, most = signature.max_operands;
  if (most == 0) return "none";
  if (most < 0) return fmt::format("{} or more", least);
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

// Says in words how a device handles its part of the factor's dimension.
std::string role(const Factor& factor) {
  const auto is_in = [](int at) { return at >= 0; };
  if (factor.kind == Factor::Kind::kReduce &&
      std::any_of(factor.results.begin(), factor.results.end(), is_in))
    return "each device computes its part of the results that have the dimension, and a partial result of "
           "each other one; the partial results are reduced";
  static constexpr auto kNames = std::to_array<EnumName<Factor::Kind>>(
      {{Factor::Kind::kPass, "each device computes its part"},
       {Factor::Kind::kReduce, "each device computes a partial result, and the partial results are reduced"},
       {Factor::Kind::kNeedsReplication,
        "each device needs the whole dimension, unless the operation can be replaced by others that work on "
        "parts"},
       {Factor::Kind::kPermuted, "devices exchange the elements that move"}});
  return std::string(name_in(kNames, factor.kind));
}

std::string factor_name(const Factor& factor, const std::vector<TensorType>& operands,
                        const std::vector<TensorType>& results) {
  std::string first, last;
  for (size_t i = 0; i < operands.size(); ++i)
    if (factor.operands[i] >= 0 && first.empty())
      first = operands[i].dims[static_cast<size_t>(factor.operands[i])].name;
  for (size_t i = 0; i < results.size(); ++i)
    if (factor.results[i] >= 0) last = results[i].dims[static_cast<size_t>(factor.results[i])].name;
  if (first.empty() || last.empty() || first == last) return first.empty() ? last : first;
  return first + " -> " + last;
}

std::string roles_text(const OpDef& op, const Example& example, const std::vector<TensorType>& operands,
                       const std::vector<TensorType>& results, int width) {
  if (op.family == Family::kRelabel)
    return "\nIf dimensions are split:\n" + wrapped("  ",
                                                    "the result is split in the same way as far as the order "
                                                    "of elements allows; otherwise elements move",
                                                    2, width);
  const std::vector<Factor> factors = op.roles({example.attributes, operands}, results);
  if (factors.empty()) return "";
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Factor& factor : factors)
    entries.emplace_back(factor_name(factor, operands, results), role(factor));
  return "\nIf dimensions of the example are split:\n" + listed(entries, width);
}

std::string attributes_text(const Signature& signature, int width) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const AttributeSpec& spec : signature.attributes)
    if (!spec.by_compiler)
      entries.emplace_back(spec.name, fmt::format("{}{}: {}", type_text(spec.type),
                                                  spec.required ? ", required" : "", spec.doc));
  return entries.empty() ? "" : "\nAttributes:\n" + listed(entries, width);
}

// Writes the elements as nested JSON lists, with the sizes of the dimensions. Elements of a bool tensor are written as
// true and false. `next` points to the first element to write, and is moved past the last one written.
std::string nested(const Dims& dims, size_t depth, DType dtype, const double*& next) {
  if (depth == dims.size()) {
    const double element = *next++;
    return dtype == DType::kBool ? fmt::format("{}", element != 0) : fmt::format("{}", element);
  }
  std::string text;
  for (int64_t i = 0; i < dims[depth].size; ++i)
    text += (i ? ", " : "") + nested(dims, depth + 1, dtype, next);
  return "[" + text + "]";
}

std::string known_text(const std::string& name, const TensorType& type, const std::vector<double>& elements) {
  const double* next = elements.data();
  return fmt::format("  {}: {} = {}\n", name, to_string(type), nested(type.dims, 0, type.dtype, next));
}

std::string worked_text(const Signature& signature, const WorkedExample& worked) {
  std::vector<TensorType> types;
  for (const KnownTensor& operand : worked.operands) types.push_back(operand.type);
  const std::vector<TensorType> results = signature.infer({worked.attributes, types});
  const std::vector<std::string> in = example_names('x', types.size()),
                                 out = example_names('y', results.size());
  std::string text =
      fmt::format("\nWorked example:\n  {}\n", operation_text(signature.name, out, in, worked.attributes));
  for (size_t i = 0; i < types.size(); ++i) text += known_text(in[i], types[i], worked.operands[i].elements);
  for (size_t i = 0; i < results.size(); ++i) text += known_text(out[i], results[i], worked.results[i]);
  return text;
}

const std::string& text_under(const JsonValue& object, std::string_view key) {
  static const std::string kNone;
  const JsonValue* found = object.find(key);
  return found ? found->text : kNone;
}

// `"x"`, `["x", "m"]`: the operands or results of a call of the block, which are one name or a list of names.
std::string names_under(const JsonValue& block, std::string_view key) {
  const JsonValue* list = block.find(key);
  std::vector<std::string> names;
  for (size_t i = 0; list && i < list->items.size(); ++i)
    names.push_back(fmt::format("\"{}\"", list->items[i].text));
  return names.size() == 1 ? names[0] : fmt::format("[{}]", fmt::join(names, ", "));
}

std::string call_of(const std::string& name, const JsonValue& block) {
  const JsonValue* in = block.find("in");
  return fmt::format(R"({{"out": {}, "op": "call", "block": "{}"{}}})", names_under(block, "out"), name,
                     in && !in->items.empty() ? ", \"in\": " + names_under(block, "in") : "");
}

// The members under `key`, in lines `name  value`, with a heading.
std::string definitions(const JsonValue& object, std::string_view key, const std::string& heading,
                        int width) {
  const JsonValue* list = object.find(key);
  if (!list || list->members.empty()) return "";
  std::vector<std::pair<std::string, std::string>> entries;
  for (const JsonMember& member : list->members) entries.emplace_back(member.key, member.value.text);
  return heading + "\n" + listed(entries, width);
}

// Each with its dimensions: `w [model, gates]`. A variable that is made in one of several ways is a list of these.
std::string variables_text(const JsonValue& block, int width) {
  const JsonValue* list = block.find("variables");
  if (!list || list->members.empty()) return "";
  std::vector<std::string> all;
  for (const JsonMember& member : list->members) {
    const JsonValue& first = member.value.items.empty() ? member.value : member.value.items.front();
    const JsonValue* dims = first.find("dims");
    std::vector<std::string> names;
    for (size_t i = 0; dims && i < dims->items.size(); ++i) names.push_back(dims->items[i].text);
    all.push_back(fmt::format("{} [{}]", member.key, fmt::join(names, ", ")));
  }
  return wrapped("Variables: ", fmt::format("{}", fmt::join(all, ", ")), 2, width);
}

}  // namespace

std::vector<std::string> example_names(char letter, size_t count) {
  if (count == 1) return {std::string(1, letter)};
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", letter, i + 1));
  return names;
}

std::string operation_list(int width) {
  std::vector<std::pair<std::string, std::vector<const Signature*>>> groups;
  for (const Family family : {Family::kElementwise, Family::kReduction, Family::kContraction,
                              Family::kAttention, Family::kConvolution, Family::kPooling, Family::kRelabel,
                              Family::kMovement, Family::kIndexing, Family::kGenerator}) {
    groups.push_back({family_name(family), {}});
    for (const OpDef* op : all_ops())
      if (family == Family::kElementwise ? is_elementwise(*op) : op->family == family)
        groups.back().second.push_back(&op->signature);
  }
  groups.push_back({"made of other operations", {}});
  for (const CompositeDef* composite : all_composites())
    groups.back().second.push_back(&composite->signature);
  size_t longest = 0;
  for (const std::string& name : operation_names()) longest = std::max(longest, name.size());
  std::string statements = "\nstatements:\n";
  for (const StatementKind& statement : statement_kinds())
    statements +=
        wrapped(fmt::format("  {:<{}}  ", statement.name, longest), statement.doc, longest + 4, width);
  std::string text;
  for (const auto& [title, signatures] : groups) {
    text += (text.empty() ? "" : "\n") + title + ":\n";
    for (const Signature* signature : signatures)
      text += wrapped(fmt::format("  {:<{}}  ", signature->name, longest), std::string(signature->doc),
                      longest + 4, width);
  }
  return text + statements;
}

const std::vector<StatementKind>& statement_kinds() {
  static const std::vector<StatementKind> kKinds = {
      {"assign", "Gives a variable a new value at the end of the step.",
       "  variable  the name of the variable, required\n"
       "  in        the new value: a tensor of the variable's type, a number or an operation; required\n",
       R"({"op": "assign", "variable": "steps", "in": {"op": "add", "in": ["steps", 1]}})"},
      {"call", "Adds the operations and variables of a block, in a scope of their own.",
       "  block  the name of the block, required\n"
       "  in     its inputs: an operand or a list of operands\n"
       "  out    a name for each of its outputs, required\n"
       "  bind   an object that maps each dimension of the block to a dimension, and each param to a number\n"
       "  scope  the prefix of its names; default: the block's name\n",
       R"({"out": "y", "op": "call", "block": "ffn", "in": "x", "bind": {"hidden": "d_ff", "rate": 0.1}})"},
      {"gradients", "Computes the gradients of a scalar with respect to tensors, one gradient for each.",
       "  of   a float scalar, required\n"
       "  in   a tensor or a list of tensors, required\n"
       "  out  a name for each gradient, required\n",
       R"({"out": ["w_grad", "x_grad"], "op": "gradients", "of": "loss", "in": ["w", "x"]})"},
      {"repeat",
       "Calls a block several times, with new variables each time; the outputs of one call are the first "
       "inputs of the next.",
       "  times  the number of calls, required; if it is 0, the results are the inputs\n"
       "  block, in, out, bind, scope  as for a call; the scopes are SCOPE_0, SCOPE_1, …\n"
       "  index  a name for the number of the call, from 0, in the expressions of bind\n",
       R"({"out": "y", "op": "repeat", "times": "layers", "block": "layer", "in": ["x", "mask"]})"},
      {"while",
       "Calls a block several times, or for as long as a condition holds, with the same variables each time.",
       "  times  the number of rounds; a loop with 'times' has a gradient\n"
       "  cond   instead of times: a block that returns one bool, evaluated before each round on the loop's\n"
       "         first inputs; the loop has no gradient\n"
       "  body   the name of the block to repeat, required; its outputs become its first inputs in\n"
       "         the next round, and must have the same types\n"
       "  in, out, bind, scope  as for a call; bind applies to the blocks of cond and body\n",
       R"({"out": ["s", "n"], "op": "while", "cond": "unfinished", "body": "improve", "in": ["x", 0, "x"]})"},
  };
  return kKinds;
}

std::string statement_page(const StatementKind& statement, int width) {
  return fmt::format("{}\n{}\nKeys:\n{}\nExample:\n  {}\n", statement.name,
                     wrapped("  ", statement.doc, 2, width), statement.keys, statement.example);
}

std::string operation_hint(const std::string& name, const std::vector<std::string>& others) {
  const std::string foreign = foreign_hint(ForeignKind::kOperation, name);
  if (!foreign.empty()) return foreign;
  std::vector<std::string> known = operation_names();
  for (const StatementKind& statement : statement_kinds()) known.push_back(statement.name);
  known.insert(known.end(), others.begin(), others.end());
  const std::string near = did_you_mean(name, known);
  return near.empty() ? "mtfc ops lists all operations" : near;
}

const JsonValue* find_block(const LibraryFile& file, const std::string& name) {
  const JsonValue* blocks = file.json.find("blocks");
  return blocks ? blocks->find(name) : nullptr;
}

std::string library_list(const std::vector<LibraryFile>& files, int width) {
  std::string text;
  for (const LibraryFile& file : files) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", file.name);
    text += wrapped("  ", text_under(file.json, "doc"), 2, width);
    if (const JsonValue* blocks = file.json.find("blocks"))
      for (const JsonMember& block : blocks->members)
        text += wrapped("    ", call_of(block.key, block.value), 6, width);
  }
  return text;
}

std::string library_page(const LibraryFile& file, int width) {
  std::string text = fmt::format("{}\n{}", file.name, wrapped("  ", text_under(file.json, "doc"), 2, width));
  text += definitions(file.json, "params", "\nParams, unless the model defines them:", width);
  text += definitions(file.json, "dims", "\nDimensions, unless the model defines them:", width);
  if (const JsonValue* blocks = file.json.find("blocks"))
    for (const JsonMember& block : blocks->members) text += "\n" + block_page(file, block.key, width);
  return text;
}

std::string block_page(const LibraryFile& file, const std::string& name, int width) {
  const JsonValue& block = *find_block(file, name);
  std::string text = fmt::format("{}, a block of {}\n", name, file.name);
  text += wrapped("  ", text_under(block, "doc"), 2, width);
  text += wrapped("Call: ", call_of(name, block), 2, width);
  text +=
      definitions(block, "dims",
                  "Dimensions, each with what it means in the model unless the call binds another:", width);
  text += definitions(block, "params", "Params, each with its default:", width);
  return text + variables_text(block, width);
}

std::string operation_page(const Signature& signature, int width) {
  const OpDef* op = find_op(signature.name);
  std::string text = fmt::format("{}\n", signature.name);
  text += wrapped("  ", std::string(signature.doc), 2, width);
  text += fmt::format("\nOperands: {}\n", operand_count(signature));
  text += attributes_text(signature, width);
  text += fmt::format("\nGradient: {}\n", !op            ? "follows from the operations that it is made of"
                                          : op->gradient ? "yes"
                                                         : "none");
  const Example& example = signature.examples.front();
  std::vector<TensorType> operands;
  for (const ExampleOperand& operand : example.operands) operands.push_back(operand.type);
  const std::vector<TensorType> results = signature.infer({example.attributes, operands});
  if (op) text += roles_text(*op, example, operands, results, width);
  const std::vector<std::string> in = example_names('x', operands.size()),
                                 out = example_names('y', results.size());
  text += fmt::format("\nExample:\n  {}\n", operation_text(signature.name, out, in, example.attributes));
  for (size_t i = 0; i < operands.size(); ++i)
    text += fmt::format("  {}: {}\n", in[i], to_string(operands[i]));
  for (size_t i = 0; i < results.size(); ++i)
    text += fmt::format("  {}: {}\n", out[i], to_string(results[i]));
  for (const WorkedExample& worked : signature.worked) text += worked_text(signature, worked);
  return text;
}

}  // namespace mtfc
