#pragma once
// A place in a JSON file: the value there, the file and the pointer to it. Typed access records what is wrong
// in a shared sink and returns nothing, so that the reader can go on and report the next mistake too.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"
#include "formats/json/diagnostics.h"
#include "formats/json/json_value.h"

namespace mtfc {

struct NamedCursor;

class Cursor {
 public:
  /// The root of a file. All three must outlive the cursor and its descendants.
  Cursor(const JsonValue& value, const std::string& file, DiagnosticSink& sink)
      : Cursor(value, file, sink, "") {}

  const JsonValue& value() const { return *value_; }
  JsonKind kind() const { return value_->kind; }
  bool is(JsonKind kind) const { return value_->kind == kind; }
  const std::string& pointer() const { return pointer_; }
  const std::string& file() const { return *file_; }
  DiagnosticSink& sink() const { return *sink_; }
  Location location() const { return {*file_, value_->place.line, value_->place.column, pointer_}; }

  void error(std::string message, std::string hint = "") const;
  /// `expected WHAT, found a number`.
  void expected(std::string_view what) const;

  std::optional<std::string> string(std::string_view what = "a string") const;
  std::optional<bool> flag() const;
  std::optional<int64_t> integer() const;
  /// The items of a list; empty, with an error, for anything else.
  std::vector<Cursor> items(std::string_view what = "a list") const;
  /// The members of an object in the order of the file; empty, with an error, for anything else.
  std::vector<NamedCursor> members(std::string_view what = "an object") const;
  /// The member `key`; nothing where there is none or the value is no object.
  std::optional<Cursor> find(std::string_view key) const;
  /// As find, but with an error where the key is missing from an object.
  std::optional<Cursor> require(std::string_view key) const;
  Cursor item(size_t index) const;

  /// An error for every key that is not in `known`; one of `unsupported` is called that. False, with an
  /// error, where the value is no object.
  bool check_keys(const std::vector<std::string>& known,
                  const std::vector<std::string>& unsupported = {}) const;

 private:
  Cursor(const JsonValue& value, const std::string& file, DiagnosticSink& sink, std::string pointer)
      : value_(&value), file_(&file), sink_(&sink), pointer_(std::move(pointer)) {}

  const JsonValue* value_;
  const std::string* file_;
  DiagnosticSink* sink_;
  std::string pointer_;
};

struct NamedCursor {
  std::string key;
  Location key_location;
  Cursor value;
};

/// For an unknown key: the one that is near, or all that are known.
std::string keys_hint(const std::string& key, const std::vector<std::string>& known);

/// `WHAT is not supported by this version of mtfc`.
std::string unsupported_message(std::string_view what);

}  // namespace mtfc
