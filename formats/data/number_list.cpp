#include "formats/data/number_list.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>

namespace mtfc {
namespace {

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <typename Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename Element, typename Numbers>
StoredArray stored(StoredArray array, StoredType type, const Numbers& numbers) {
  const auto elements = std::make_shared<std::vector<Element>>();
  elements->reserve(numbers.size());
  for (const auto number : numbers) elements->push_back(static_cast<Element>(number));
  array.type = type;
  array.data = reinterpret_cast<const std::byte*>(elements->data());
  array.owner = elements;
  return array;
}

}  // namespace

std::optional<TextNumber> number_in(std::string_view text) {
  text = without_blanks(text);
  if (text == "true" || text == "True") return int64_t{1};
  if (text == "false" || text == "False") return int64_t{0};
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (const auto whole = whole_text_as<int64_t>(text)) return *whole;
  if (const auto fraction = whole_text_as<double>(text)) return *fraction;
  return std::nullopt;
}

void NumberList::add(TextNumber number) {
  if (const auto* whole = std::get_if<int64_t>(&number); whole && all_whole_) {
    all_bytes_ = all_bytes_ && *whole >= 0 && *whole <= std::numeric_limits<uint8_t>::max();
    whole_.push_back(*whole);
    return;
  }
  if (all_whole_) {
    fractions_.assign(whole_.begin(), whole_.end());
    whole_ = {};
    all_whole_ = all_bytes_ = false;
  }
  fractions_.push_back(std::visit([](auto value) { return static_cast<double>(value); }, number));
}

StoredArray NumberList::array(const DataFile& file, std::vector<int64_t> shape) const {
  StoredArray array;
  array.file = file.name;
  array.shape = std::move(shape);
  array.sample = file.sample;
  if (all_bytes_) return stored<uint8_t>(std::move(array), StoredType::kU8, whole_);
  if (all_whole_) return stored<int64_t>(std::move(array), StoredType::kI64, whole_);
  return stored<double>(std::move(array), StoredType::kF64, fractions_);
}

}  // namespace mtfc
