#include "formats/report/html_parts.h"

#include "core/program/repeated_names.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kMostMembers = 24;  // listed of a row; with more, the last one follows a gap

}  // namespace

std::string html_bar(const std::vector<BarPart>& parts, double most) {
  std::string html;
  for (const BarPart& part : parts)
    if (most > 0 && part.value > 0)
      html += fmt::format("<i class=c{} style=\"width:{:.1f}%\"></i>", part.colour, 100 * part.value / most);
  return html.empty() ? "" : "<div class=bar>" + html + "</div>";
}

std::string html_key(int colour, const std::string& text) {
  return fmt::format("<span class=key><i class=c{}></i>{}</span> ", colour, html_escaped(text));
}

std::string html_table(const std::string& label, const std::vector<HtmlColumn>& columns,
                       std::optional<size_t> sorted_by) {
  std::string html =
      fmt::format("<div class=wide tabindex=0 role=group aria-label=\"{}\"><table class=list><thead><tr>",
                  html_escaped(label));
  for (size_t c = 0; c < columns.size(); ++c)
    html += fmt::format("<th scope=col{}{}>{}</th>", columns[c].is_word ? " class=word" : "",
                        sorted_by == c ? " aria-sort=descending" : "", html_escaped(columns[c].name));
  return html + "</tr></thead><tbody>\n";
}

std::string_view html_table_end() {
  return "</tbody></table></div>\n";
}

std::string html_row_head(const std::string& html) {
  return "<th scope=row>" + html + "</th>";
}

std::string html_number(double value, const std::string& text, const std::string& bar) {
  return fmt::format("<td data-v=\"{:.4g}\">{}{}</td>", value, value > 0 ? text : "", bar);
}

std::string html_words(const std::string& markup) {
  return "<td class=word>" + markup + "</td>";
}

std::string html_share(size_t shown, size_t all, const std::string& which) {
  if (shown == all) return fmt::format("All {}", grouped(static_cast<int64_t>(all)));
  return fmt::format("The {} {} of {}", grouped(static_cast<int64_t>(shown)), which,
                     grouped(static_cast<int64_t>(all)));
}

std::string html_folded(const std::vector<FoldedMember>& members) {
  if (members.empty()) return "";
  std::vector<std::string> names;
  for (const FoldedMember& member : members) names.push_back(member.name);
  const std::string name = html_escaped(folded(names));
  if (members.size() == 1) return name;
  std::string html = fmt::format("<details><summary>{}</summary><div class=members>", name);
  for (size_t i = 0; i < members.size(); ++i) {
    if (members.size() > kMostMembers && i == kMostMembers - 1) {
      html += fmt::format("and {} more, up to\n", members.size() - kMostMembers);
      i = members.size() - 1;
    }
    const FoldedMember& member = members[i];
    const std::string number = repetition(member.name);
    html += html_escaped(number.empty() ? member.facts : number + ": " + member.facts) + "\n";
  }
  return html + "</div></details>";
}

}  // namespace mtfc
