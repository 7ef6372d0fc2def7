#pragma once
// A location in a JSON file: the value there, the file, and the pointer to it. Typed access records errors in
// a shared sink and returns nothing, so that the reader can go on and report further mistakes too.

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
  /// The items of a list; for anything else, records an error and returns none.
  std::vector<Cursor> items(std::string_view what = "a list") const;
  /// The members of an object in the order of the file; for anything else, records an error and returns none.
  std::vector<NamedCursor> members(std::string_view what = "an object") const;
  /// The member `key`; nullopt if there is none or the value is not an object.
  std::optional<Cursor> find(std::string_view key) const;
  /// Like find, but records an error if the key is missing from an object.
  std::optional<Cursor> require(std::string_view key) const;
  Cursor item(size_t index) const;

  /// Records an error for every key that is not in `known`, and calls those in `unsupported` unsupported. The object of
  /// a whole file may also have "$schema", a string for editors.
  /// Returns false, with an error, if the value is not an object.
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

/// The hint for an unknown key: the known key that is similar, or all known keys.
std::string keys_hint(const std::string& key, const std::vector<std::string>& known);

/// `WHAT is not supported by this version of mtfc`.
std::string unsupported_message(std::string_view what);

}  // namespace mtfc
