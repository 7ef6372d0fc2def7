#include "core/graph/attributes.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;

bool Attributes::operator==(const Attributes& other) const {
  return entries_ == other.entries_ || entries() == other.entries();
}

const Attributes::Entries& Attributes::entries() const {
  static const Entries kNone;
  return entries_ ? *entries_ : kNone;
}

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

void Attributes::refuse(std::string_view name) {
  throw InternalError("attribute '" + std::string(name) + "' is missing or of another type");
}

void Attributes::set(std::string_view name, AttributeValue value) {
  if (!entries_ || entries_.use_count() > 1) entries_ = std::make_shared<Entries>(entries());
  Entries& own = *entries_;
  const auto at = std::lower_bound(own.begin(), own.end(), name,
                                   [](const auto& entry, std::string_view key) { return entry.first < key; });
  if (at != own.end() && at->first == name)
    at->second = std::move(value);
  else
    own.emplace(at, std::string(name), std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : entries())
    if (key == name) return &value;
  return nullptr;
}

bool holds(const AttributeValue& value, AttributeType type) {
  switch (type) {
    case AttributeType::kFlag:
      return std::holds_alternative<bool>(value);
    case AttributeType::kInteger:
      return std::holds_alternative<int64_t>(value);
    case AttributeType::kNumber:
      return std::holds_alternative<double>(value);
    case AttributeType::kText:
      return std::holds_alternative<std::string>(value);
    case AttributeType::kDType:
      return std::holds_alternative<DType>(value);
    case AttributeType::kDim:
      return std::holds_alternative<Dim>(value);
    case AttributeType::kDims:
    case AttributeType::kOver:
    case AttributeType::kParts:
      return std::holds_alternative<Dims>(value);
    case AttributeType::kRenaming:
      return std::holds_alternative<std::vector<Renaming>>(value);
    case AttributeType::kWindows:
      return std::holds_alternative<Windows>(value);
  }
  return false;
}

std::string to_string(const AttributeValue& value) {
  struct Printer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(DType dtype) const { return mtfc::to_string(dtype); }
    std::string operator()(const Dim& dim) const { return dim.name; }
    std::string operator()(const Dims& dims) const {
      std::string text;
      for (const Dim& dim : dims) text += (text.empty() ? "" : ", ") + dim.name;
      return "[" + text + "]";
    }
    std::string operator()(const std::vector<Renaming>& map) const {
      std::string text;
      for (const Renaming& entry : map)
        text += (text.empty() ? "" : ", ") + entry.from + ": " + entry.to.name;
      return "{" + text + "}";
    }
    std::string operator()(const Windows& windows) const {
      std::string text;
      for (const Window& window : windows) text += (text.empty() ? "" : "; ") + to_string(window);
      return "[" + text + "]";
    }
  };
  return std::visit(Printer{}, value);
}

namespace {

template <typename Value, typename F>
void visit_dims(Value& value, const F& f) {
  if (auto* dim = std::get_if<Dim>(&value)) f(*dim);
  if (auto* dims = std::get_if<Dims>(&value))
    for (auto& dim : *dims) f(dim);
  if (auto* map = std::get_if<std::vector<Renaming>>(&value))
    for (auto& entry : *map) f(entry.to);
  if (auto* windows = std::get_if<Windows>(&value))
    for (auto& window : *windows)
      for (auto* dim : {&window.dim, &window.taps, &window.to})
        if (!dim->name.empty()) f(*dim);
}

}  // namespace

void for_each_dim(AttributeValue& value, const std::function<void(Dim&)>& f) {
  visit_dims(value, f);
}

void for_each_dim(const AttributeValue& value, const std::function<void(const Dim&)>& f) {
  visit_dims(value, f);
}

}  // namespace mtfc
