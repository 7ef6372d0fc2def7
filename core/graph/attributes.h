#pragma once
// The attributes of one operation, typed and resolved: dimensions carry their sizes, expressions are numbers.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/tensors/shape.h"
#include "core/tensors/window.h"

namespace mtfc {

/// One entry of a `rename` map.
struct Renaming {
  std::string from;
  Dim to;
  bool operator==(const Renaming&) const = default;
};

using AttributeValue =
    std::variant<bool, int64_t, double, std::string, DType, Dim, Dims, std::vector<Renaming>, Windows>;

/// The type of value that an operation accepts for an attribute. The model reader converts and checks by it.
enum class AttributeType {
  kFlag,      // bool
  kInteger,   // int64_t; a number or an expression
  kNumber,    // double; a number or an expression
  kText,      // std::string
  kDType,     // DType
  kDim,       // Dim; the name of a declared dimension
  kDims,      // Dims; a list of declared names
  kOver,      // Dims; one name or a list
  kParts,     // Dims; one name or a list, in which a name may be repeated
  kRenaming,  // std::vector<Renaming>; an object {old: new}
  kWindows,   // Windows; a list of objects, one for each spatial dimension
};

struct AttributeSpec {
  std::string_view name;
  AttributeType type;
  bool required;
  std::string_view doc;
  bool by_compiler = false;  // only passes set it; a model may not
};

/// A small map, kept in ascending order of names so that it prints the same every time. Copies share the entries
/// until one of them is changed, since every pass copies the attributes of most nodes. Its special members are not
/// inline, since nearly every file would compile them anew.
class Attributes {
 public:
  using Entries = std::vector<std::pair<std::string, AttributeValue>>;

  Attributes();
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries);
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();

  void set(std::string_view name, AttributeValue value);
  const AttributeValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// The value of the attribute `name`; throws InternalError if it is absent or of another type.
  template <typename T>
  const T& get(std::string_view name) const {
    const AttributeValue* value = find(name);
    const T* typed = value ? std::get_if<T>(value) : nullptr;
    if (!typed) refuse(name);
    return *typed;
  }
  template <typename T>
  T get_or(std::string_view name, T fallback) const {
    return has(name) ? get<T>(name) : fallback;
  }

  const Entries& entries() const;
  bool operator==(const Attributes&) const;

 private:
  [[noreturn]] static void refuse(std::string_view name);

  std::shared_ptr<Entries> entries_;  // nullptr for none
};

/// True if the value is of the given type.
bool holds(const AttributeValue& value, AttributeType type);

/// `dims=[batch, hidden]`, `value=0.5`, … for listings.
std::string to_string(const AttributeValue& value);

/// Calls `f` for each dimension that the value names, except for those that a renaming replaces.
void for_each_dim(AttributeValue& value, const std::function<void(Dim&)>& f);
void for_each_dim(const AttributeValue& value, const std::function<void(const Dim&)>& f);

}  // namespace mtfc
