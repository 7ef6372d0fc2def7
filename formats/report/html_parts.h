#pragma once
// Pieces that the sections of an HTML report share: bars, keys of colours, tables that can be sorted and filtered, and
// rows that stand for the repetitions of a block.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mtfc {

/// What the colours c1 to c15 of html_page.h mean, the same on all pages and in all drawings.
namespace colour {
inline constexpr int kKernels = 1, kMemory = 2, kCommunication = 3, kVariables = 4, kBeyondLimit = 5,
                     kGroup = 6, kInputs = 7, kBackward = 8, kAtPeak = 9, kForward = 10, kUpdate = 11,
                     kWorkspace = 12, kActivations = 13, kSecondGroup = 14, kGradients = 15;
/// That of the variables and the state of a group, by its number: two take turns.
inline constexpr int of_group(size_t number) {
  return number % 2 == 0 ? kGroup : kSecondGroup;
}
}  // namespace colour

/// A part of a bar, in one of these colours.
struct BarPart {
  double value;
  int colour;
};
/// A bar whose length is that of its parts over `most`. It says nothing to who does not see it: the figure stands
/// beside it.
std::string html_bar(const std::vector<BarPart>& parts, double most);
/// The colour beside what it stands for; `text` is plain text.
std::string html_key(int colour, const std::string& text);

struct HtmlColumn {
  std::string name;
  bool is_word = false;  // otherwise a number
};
/// Begins a table in a box that scrolls. `label` says what it lists, as plain text; `sorted_by` is the column by which
/// its rows descend. The rows follow, and then html_table_end(). The first cell of a row is html_row_head().
std::string html_table(const std::string& label, const std::vector<HtmlColumn>& columns,
                       std::optional<size_t> sorted_by = {});
std::string_view html_table_end();
/// The first cell of a row; `html` is markup.
std::string html_row_head(const std::string& html);

/// The cell of a number: the text for people, the value for sorting. It is empty for 0.
template <typename Number>
std::string html_number(Number value, const std::string& text) {
  const std::string shown = value == Number{} ? "" : text;
  if constexpr (std::is_floating_point_v<Number>)
    return fmt::format("<td data-v=\"{:.4g}\">{}</td>", value, shown);
  else
    return fmt::format("<td data-v=\"{}\">{}</td>", value, shown);
}
/// The same with a bar below the text.
std::string html_number(double value, const std::string& text, const std::string& bar);
/// `markup` in a cell for words.
std::string html_words(const std::string& markup);

/// `1 of 3`, `All 3`: how many of the rows or tensors there are a table has.
std::string html_share(size_t shown, size_t all, const std::string& which);

/// One of the members that a row stands for.
struct FoldedMember {
  std::string name;
  std::string facts;  // plain text that tells it from the other members, as in `step 12, 1.23 ms`
};
/// The name of a row that stands for its members: the name of a single one, or else their folded() name, which opens a
/// list of them with their numbers and their facts, shortened before the last if they are many.
std::string html_folded(const std::vector<FoldedMember>& members);

}  // namespace mtfc
