#include <fmt/format.h>

#include <algorithm>

#include "core/tensors/division.h"
#include "formats/expression/number_reader.h"
#include "formats/model/part_readers.h"
#include "formats/model/type_reader.h"

namespace mtfc {
namespace {

// A name that is no dimension is an expression, such as "2*reach + 1".
std::optional<Dim> read_taps(const Cursor& at, const ModelScope& scope) {
  if (at.is(JsonKind::kString) && scope.dim(at.value().text)) return read_dim(at, scope);
  const std::optional<int64_t> taps = read_integer(at, scope.lookup());
  if (!taps) return std::nullopt;
  if (*taps < 1) {
    at.error(fmt::format("'taps' is {}, but a window has at least one tap", *taps));
    return std::nullopt;
  }
  return Dim{"", *taps};
}

// Padding with which a window of stride s takes a place for every s elements. Where the numbers at the two ends differ,
// the one behind is larger.
bool pad_alike(const Cursor& at, Window& window) {
  if (!is_countable(window)) {
    at.error(fmt::format("the window along '{}' is too large", window.dim.name));
    return false;
  }
  const int64_t places = ceil_div(window.dim.size * window.base, window.stride);
  if (window.to.size != places) {
    at.error(
        fmt::format("with padding \"same\", the window along '{}' takes {} places, but '{}' has {} elements",
                    window.dim.name, places, window.to.name, window.to.size),
        fmt::format("make '{}' a dimension of size {}, or state 'low' and 'high'", window.to.name, places));
    return false;
  }
  window = with_high(window);
  window.low = std::max<int64_t>(0, window.high) / 2;
  window.high -= window.low;
  return true;
}

bool read_padding(const Cursor& at, const Cursor& pad, Window& window) {
  for (const char* key : {"low", "high"})
    if (const auto other = at.find(key)) {
      other->error(fmt::format("'{}' and 'pad' exclude each other", key), "use one of them");
      return false;
    }
  const std::optional<std::string> kind = pad.string("\"same\" or \"valid\"");
  if (!kind) return false;
  if (*kind == "same") return pad_alike(pad, window);
  if (*kind == "valid") return true;
  pad.error(fmt::format("unknown padding \"{}\"", *kind), "use \"same\", \"valid\", or 'low' and 'high'");
  return false;
}

std::optional<Window> read_window(const Cursor& at, const ModelScope& scope) {
  std::vector<std::string> keys = {"dim", "taps", "to", "pad"};
  for (const WindowNumber& number : window_numbers()) keys.emplace_back(number.key);
  bool good = at.check_keys(keys);
  const auto dim_at = at.require("dim"), taps_at = at.require("taps"), to_at = at.require("to");
  if (!dim_at || !taps_at || !to_at) return std::nullopt;
  const std::optional<Dim> dim = read_dim(*dim_at, scope), to = read_dim(*to_at, scope),
                           taps = read_taps(*taps_at, scope);
  if (!dim || !to || !taps) return std::nullopt;
  Window window{*dim, *taps, *to};
  for (const WindowNumber& number : window_numbers()) {
    const auto given = at.find(number.key);
    const std::optional<int64_t> value = given ? read_integer(*given, scope.lookup()) : number.usual;
    good &= value.has_value();
    if (value && *value < number.least) {
      given->error(fmt::format("'{}' is {}, but must be at least {}", number.key, *value, number.least));
      good = false;
    }
    window.*number.member = value.value_or(number.usual);
  }
  if (const auto pad = at.find("pad"); good && pad) good = read_padding(at, *pad, window);
  return good ? std::optional(window) : std::nullopt;
}

}  // namespace

std::optional<Windows> read_windows(const Cursor& at, const ModelScope& scope) {
  const size_t before = at.sink().error_count();
  Windows windows;
  for (const Cursor& item : at.items("a list of windows"))
    if (const auto window = read_window(item, scope)) windows.push_back(*window);
  return at.sink().error_count() > before ? std::nullopt : std::optional(windows);
}

}  // namespace mtfc
