#include "formats/model/model_scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/suggest.h"
#include "formats/expression/number_reader.h"
#include "formats/model/symbol_table.h"

namespace mtfc {
namespace {

// The hint for a name that is not among `known`.
std::string near_or_all(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t kMost = 10;
  const std::string near = did_you_mean(name, known);
  if (!near.empty() || known.empty()) return near;
  return "it has " + nearest_listed(name, known, kMost);
}

// The definition of a param or dimension as the file has it: two that are equal agree.
std::string written_text(const JsonValue& value) {
  std::string text = value.text;
  for (const JsonValue& item : value.items) text += item.text + ",";
  return text;
}

}  // namespace

ModelScope::ModelScope(const std::vector<ScopePart>& parts, const std::vector<std::string>& sets,
                       DiagnosticSink& sink)
    : sink_(sink) {
  for (size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].params) declare(*parts[part].params, false, part);
    if (parts[part].dims) declare(*parts[part].dims, true, part);
  }
  for (const std::string& set : sets) apply(set);
  leave_out_unusable();
  compute_all();
  for (Definition& definition : definitions_) {
    if (!definition.is_dim) continue;
    definition.dim = dims_.size();
    dims_.push_back(
        {definition.name, definition.state == State::kDone ? std::get<int64_t>(definition.value) : 1});
  }
}

ModelScope::ModelScope(const ModelScope& model, const BlockNames& names, DiagnosticSink& sink)
    : sink_(sink), model_(&model) {
  const auto define_number = [&](const std::string& name, bool is_dim, const Number& value) {
    by_name_.emplace(name, definitions_.size());
    Definition& definition = definitions_.emplace_back();
    definition.name = name;
    definition.is_dim = is_dim;
    definition.dim = dims_.size();
    definition.value = value;
    definition.state = State::kDone;
  };
  for (const auto& [formal, dim] : names.dims) {
    define_number(formal, true, dim.size);
    formals_.push_back(formal);
    dims_.push_back(dim);
  }
  for (const auto& [name, value] : names.bound) define_number(name, false, value);
  if (names.params) declare(*names.params, false, 1);
  compute_all();
}

bool ModelScope::is_known(std::string_view name) const {
  return by_name_.find(name) != by_name_.end() || (model_ ? model_->is_known(name) : name == kDecoding);
}

const Dim* ModelScope::dim(std::string_view name) const {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return model_ ? model_->dim(name) : nullptr;
  const Definition& definition = definitions_[at->second];
  return definition.is_dim ? &dims_[definition.dim] : nullptr;
}

std::vector<std::string> ModelScope::dim_names() const {
  std::vector<std::string> list = formals_;
  const ModelScope* model = this;
  while (model->model_) model = model->model_;
  for (const Dim& dim : model->dims_) list.push_back(dim.name);
  return list;
}

bool ModelScope::is_broken(std::string_view name) const {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return model_ && model_->is_broken(name);
  return definitions_[at->second].state == State::kFailed;
}

const std::vector<double>* ModelScope::list(std::string_view name) const {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return model_ ? model_->list(name) : nullptr;
  const std::optional<std::vector<double>>& list = definitions_[at->second].list;
  return list ? &*list : nullptr;
}

std::map<std::string, double> ModelScope::params() const {
  std::map<std::string, double> params;
  for (const Definition& definition : definitions_)
    if (!definition.is_dim && !definition.list) params.emplace(definition.name, to_double(definition.value));
  return params;
}

std::vector<std::string> ModelScope::names() const {
  std::vector<std::string> list;
  for (const Definition& definition : definitions_) list.push_back(definition.name);
  if (!model_) return list;
  const std::vector<std::string> others = model_->names();
  list.insert(list.end(), others.begin(), others.end());
  return list;
}

// Returns whether another definition of that name takes precedence, or conflicts with this one.
bool ModelScope::is_settled(const NamedCursor& member, bool is_dim, size_t part) {
  const auto at = by_name_.find(member.key);
  if (at == by_name_.end()) return false;
  Definition& other = definitions_[at->second];
  const bool is_own = other.part == 0 && part > 0;  // the model's, or given by the call of a block
  if (other.is_dim != is_dim && !is_own) {
    sink_.error(member.key_location, fmt::format("'{}' is a param and a dimension", member.key),
                fmt::format("params and dims share one name space; the other is in {}",
                            line_text(other.location, member.key_location)));
    other.state = State::kFailed;
  } else if (!is_own && written_text(member.value.value()) != other.written) {
    sink_.error(member.key_location,
                fmt::format("'{}' is defined differently in {}:{}", member.key, other.location.file,
                            other.location.line),
                "define it in the model, which takes precedence over the files that it includes");
  }
  return true;
}

void ModelScope::declare(const Cursor& list, bool is_dim, size_t part) {
  for (const NamedCursor& member :
       list.members(is_dim ? "an object {dimension: size}" : "an object {param: number}")) {
    if (member.key == kDecoding) {
      sink_.error(member.key_location, fmt::format("'{}' can't be defined", kDecoding),
                  "it is 1 in decode and 0 elsewhere");
      define(member, is_dim, part).state = State::kFailed;
      continue;
    }
    if (!is_expression_name(member.key)) {
      sink_.error(member.key_location,
                  fmt::format("'{}' can't name a {}", member.key, is_dim ? "dimension" : "param"),
                  "names are letters, digits and '_', but not words of the expression language");
      define(member, is_dim, part).state = State::kFailed;
      continue;
    }
    if (is_settled(member, is_dim, part)) continue;
    Definition& definition = define(member, is_dim, part);
    if (member.value.is(JsonKind::kNumber)) {
      definition.value = number_of(member.value.value());
      definition.expression = Expression();
    } else if (member.value.is(JsonKind::kString)) {
      definition.in_string = true;
      set_expression(definition, member.value.value().text);
    } else if (member.value.is(JsonKind::kArray) && !is_dim) {
      set_list(definition, member.value);
    } else {
      member.value.expected(is_dim ? "a number or an expression"
                                   : "a number, an expression or a list of numbers");
      definition.state = State::kFailed;
    }
  }
}

ModelScope::Definition& ModelScope::define(const NamedCursor& member, bool is_dim, size_t part) {
  by_name_.emplace(member.key, definitions_.size());
  Definition& definition = definitions_.emplace_back();
  definition.name = member.key;
  definition.is_dim = is_dim;
  definition.part = part;
  definition.location = member.value.location();
  definition.written = written_text(member.value.value());
  return definition;
}

void ModelScope::apply(const std::string& set) {
  const Location location{"--set", 0, 0, ""};
  const size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0)
    return sink_.error(location, fmt::format("expected NAME=VALUE, found '{}'", set));
  const std::string name = set.substr(0, equals);
  const auto at = by_name_.find(name);
  if (at == by_name_.end())
    return sink_.error(location, fmt::format("the model has no param or dimension '{}'", name),
                       near_or_all(name, names()));
  Definition& definition = definitions_[at->second];
  definition.location = {fmt::format("--set {}", name), 0, 0, ""};
  definition.in_string = false;
  definition.list.reset();
  definition.state = State::kNew;
  set_expression(definition, set.substr(equals + 1));
}

void ModelScope::set_list(Definition& definition, const Cursor& at) {
  definition.list.emplace();
  definition.state = State::kDone;
  for (const Cursor& item : at.items()) {
    const bool is_number = item.is(JsonKind::kNumber);
    if (!is_number) item.expected("a number");
    if (!is_number) definition.state = State::kFailed;
    definition.list->push_back(is_number ? item.value().number() : 0);
  }
}

void ModelScope::set_expression(Definition& definition, const std::string& text) {
  definition.text = text;
  try {
    definition.expression = Expression::parse(text);
  } catch (const ExpressionError& error) {
    fail(definition, error.what(), error.hint, error.offset);
  }
}

void ModelScope::fail(Definition& definition, std::string message, std::string hint, size_t offset) {
  Location location = definition.location;
  if (definition.in_string) location.column += 1 + characters(definition.text, offset);
  sink_.error(location, std::move(message), std::move(hint));
  definition.state = State::kFailed;
}

// Once for each step of the longest chain of such definitions.
void ModelScope::leave_out_unusable() {
  const auto missing = [&](const Definition& definition) {
    const std::vector<Expression::NameUse>& uses = definition.expression->names();
    const auto at = std::find_if(uses.begin(), uses.end(),
                                 [&](const Expression::NameUse& use) { return !is_known(use.name); });
    return at == uses.end() ? "" : at->name;
  };
  for (bool is_done = false; !is_done;) {
    is_done = true;
    std::erase_if(definitions_, [&](const Definition& definition) {
      if (definition.part == 0 || definition.state != State::kNew || !definition.expression) return false;
      const std::string name = missing(definition);
      // In a file of the user's, a name that is nearly a known one is a mistake to report.
      const bool is_mistake = !definition.location.file.starts_with("std/") && !left_out_.contains(name) &&
                              !did_you_mean(name, names()).empty();
      if (name.empty() || is_mistake) return false;
      left_out_.emplace(definition.name,
                        fmt::format("{}:{} defines it by '{}', which the model lacks",
                                    definition.location.file, definition.location.line, name));
      is_done = false;
      return true;
    });
    by_name_.clear();
    for (size_t i = 0; i < definitions_.size(); ++i) by_name_.emplace(definitions_[i].name, i);
  }
}

std::string ModelScope::hint_for(std::string_view name, const std::vector<std::string>& known) const {
  if (const auto at = left_out_.find(name); at != left_out_.end()) return at->second;
  if (model_) return model_->hint_for(name, known);
  return did_you_mean(std::string(name), known);
}

void ModelScope::compute_all() {
  lookup_.known = [this] { return names(); };
  lookup_.find = [this](std::string_view name) -> std::optional<Number> {
    const auto at = by_name_.find(name);
    if (at == by_name_.end() && model_) return model_->lookup_.find(name);
    if (at == by_name_.end()) return name == kDecoding ? std::optional<Number>(int64_t{0}) : std::nullopt;
    if (definitions_[at->second].state == State::kFailed) throw ExpressionError{"", "", 0};
    if (definitions_[at->second].list)
      throw ExpressionError{fmt::format("'{}' is a list of numbers, not a number", name), "", 0};
    return definitions_[at->second].value;
  };
  for (size_t i = 0; i < definitions_.size(); ++i) compute(i);
}

// Works depth first without recursion: a chain of definitions may be as long as the file.
void ModelScope::compute(size_t first) {
  if (definitions_[first].state != State::kNew) return;
  std::vector<std::pair<size_t, size_t>> open = {
      {first, 0}};  // a definition, and how many of its names are done
  definitions_[first].state = State::kOpen;
  while (!open.empty()) {
    const size_t current = open.back().first;
    Definition& definition = definitions_[current];
    const std::vector<Expression::NameUse>& uses = definition.expression->names();
    if (definition.state == State::kFailed || open.back().second == uses.size()) {
      if (definition.state == State::kOpen) finish(definition);
      open.pop_back();
      // A definition that uses a failed one fails too; the cause has been reported.
      if (definition.state == State::kFailed && !open.empty())
        definitions_[open.back().first].state = State::kFailed;
      continue;
    }
    const Expression::NameUse& use = uses[open.back().second++];
    const auto at = by_name_.find(use.name);
    if (at == by_name_.end() && is_known(use.name)) continue;
    if (at == by_name_.end()) {
      fail(definition, fmt::format("unknown param or dimension '{}'", use.name), hint_for(use.name, names()),
           use.offset);
      continue;
    }
    Definition& needed = definitions_[at->second];
    if (needed.state == State::kFailed) {
      definition.state = State::kFailed;
    } else if (needed.state == State::kOpen) {
      report_cycle(open, at->second);
    } else if (needed.state == State::kNew) {
      needed.state = State::kOpen;
      open.emplace_back(at->second, 0);
    }
  }
}

void ModelScope::report_cycle(const std::vector<std::pair<size_t, size_t>>& open, size_t again) {
  std::string chain;
  bool inside = false;
  for (const auto& [index, done] : open) {
    inside = inside || index == again;
    if (inside) chain += definitions_[index].name + " -> ";
  }
  fail(definitions_[again], fmt::format("'{}' depends on itself: {}{}", definitions_[again].name, chain,
                                        definitions_[again].name));
  for (const auto& [index, done] : open) definitions_[index].state = State::kFailed;
}

void ModelScope::finish(Definition& definition) {
  // The dependencies have been computed before.
  if (!definition.text.empty()) {
    try {
      definition.value = definition.expression->evaluate(lookup_);
    } catch (const ExpressionError& error) {
      return fail(definition, error.what(), error.hint, error.offset);
    }
  }
  if (definition.is_dim) {
    const std::optional<int64_t> size = to_integer(definition.value);
    if (!size || *size < 1)
      return fail(definition,
                  fmt::format("the size of dimension '{}' must be a positive whole number, but is {}",
                              definition.name, to_string(definition.value)));
    definition.value = *size;
  }
  definition.state = State::kDone;
}

}  // namespace mtfc
