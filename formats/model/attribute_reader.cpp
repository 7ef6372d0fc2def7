#include <fmt/format.h>

#include "formats/expression/number_reader.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

template <typename T>
std::optional<AttributeValue> wrapped(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return AttributeValue(*value);
}

std::optional<AttributeValue> read_renaming(const Cursor& at, const ModelScope& scope) {
  const size_t before = at.sink().error_count();
  std::vector<Renaming> map;
  for (const NamedCursor& member : at.members("an object {old: new}"))
    if (const std::optional<Dim> to = read_dim(member.value, scope)) {
      const Dim* from = scope.dim(member.key);
      map.push_back({from ? from->name : member.key, *to});
    }
  if (at.sink().error_count() > before) return std::nullopt;
  return map;
}

// true, false, or an expression, of which 0 is false.
std::optional<AttributeValue> read_flag(const Cursor& at, const ModelScope& scope) {
  if (!at.is(JsonKind::kString)) return wrapped(at.flag());
  const std::optional<double> number = read_real(at, scope.lookup());
  if (!number) return std::nullopt;
  return AttributeValue(*number != 0);
}

// A whole number that f64 does not hold would become another one.
std::optional<double> read_exact(const Cursor& at, const ModelScope& scope) {
  const std::optional<Number> number = read_number(at, scope.lookup());
  if (!number) return std::nullopt;
  const auto* whole = std::get_if<int64_t>(&*number);
  if (whole && to_integer(Number(to_double(*number))) != *whole)
    at.error(
        fmt::format("{} is too large: whole numbers are read exactly up to 9007199254740991", *whole),
        fmt::format("give it as data of an input, or load it into a variable; {}.0 may be rounded", *whole));
  return to_double(*number);
}

std::optional<AttributeValue> read_attribute(const Cursor& at, AttributeType type, const ModelScope& scope) {
  switch (type) {
    case AttributeType::kFlag:
      return read_flag(at, scope);
    case AttributeType::kInteger:
      return wrapped(read_integer(at, scope.lookup()));
    case AttributeType::kNumber:
      return wrapped(read_exact(at, scope));
    case AttributeType::kText:
      return wrapped(at.string());
    case AttributeType::kDType:
      return wrapped(read_dtype(at));
    case AttributeType::kDim:
      return wrapped(read_dim(at, scope));
    case AttributeType::kDims:
      return wrapped(read_dims(at, scope, false));
    case AttributeType::kOver:
      return wrapped(read_dims(at, scope, true));
    case AttributeType::kParts:
      return wrapped(read_parts(at, scope));
    case AttributeType::kRenaming:
      return read_renaming(at, scope);
    case AttributeType::kWindows:
      return wrapped(read_windows(at, scope));
  }
  throw InternalError("an attribute type is not known");
}

}  // namespace

std::optional<Attributes> read_attributes(const Cursor& at, const Signature& signature,
                                          const ModelScope& scope) {
  const size_t before = at.sink().error_count();
  std::vector<std::string> keys = {"op", "in", "out", "when", "sharding", "precision", "doc"};
  for (const AttributeSpec& spec : signature.attributes)
    if (!spec.by_compiler) keys.emplace_back(spec.name);
  at.check_keys(keys);
  Attributes attributes;
  for (const AttributeSpec& spec : signature.attributes) {
    if (spec.by_compiler) continue;
    const std::optional<Cursor> cursor = at.find(spec.name);
    if (!cursor) {
      if (spec.required)
        at.error(fmt::format("'{}' needs '{}'", signature.name, spec.name), std::string(spec.doc));
      continue;
    }
    if (const auto value = read_attribute(*cursor, spec.type, scope)) attributes.set(spec.name, *value);
  }
  if (at.sink().error_count() > before) return std::nullopt;
  return attributes;
}

}  // namespace mtfc
