#include <fmt/format.h>

#include <algorithm>

#include "formats/report/html_page.h"
#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/report/html_tensors.h"
#include "formats/report/report_writer.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kMostInDetail = 8;  // layouts; in a sweep over hundreds, all have their bars
constexpr size_t kMostOnPaper = 3;   // layouts in detail

// A heading with what follows it. On paper, sections that are not `on_paper` are left out.
struct PageSection {
  std::string id, title, html;
  bool on_paper = true;
};

std::string warnings_list(const CostReport& report) {
  std::string html;
  for (const std::string& warning : report.warnings)
    html += "<p class=dim>" + html_escaped(warning) + "</p>\n";
  return html;
}

// The sections about one layout; `number`: that of the layout as given, from 1.
std::vector<PageSection> sections_of(const ComparedLayout& layout, size_t number,
                                     const PageOptions& options) {
  const CostReport& report = *layout.report;
  const std::vector<CollectiveGroup> groups = collective_groups(layout.reshards, report.layout.mesh);
  std::vector<PageSection> sections = {
      {"mesh", "Mesh", mesh_drawing(report.layout, options.ranks_per_node)},
      {"totals", "Totals", totals_tables(report, options.parts)},
      {"step", "A step over time", step_drawing(report)},
      {"operations", "Operations", operations_table(report, number, groups, options.top)},
      {"collectives", "Collectives", collectives_table(report, number, groups, options.top), false},
      {"memory", "Memory at the peak", memory_table(report.memory)},
      {"alive", "Tensors alive at the peak", alive_table(report, options.top), false},
      {"tensors", "Tensors and the ranks that hold them", tensor_drawings(report), false}};
  if (!report.time) sections[2].title = "Memory over the steps";
  std::erase_if(sections, [](const PageSection& section) { return section.html.empty(); });
  for (PageSection& section : sections) section.id += fmt::format("-{}", number);
  return sections;
}

std::string link(const PageSection& section) {
  return fmt::format("<a href=\"#{}\">{}</a>", section.id, section.title);
}

// The body of a page and the table of its contents, which grow side by side.
class Page {
 public:
  // `inner` are the sections below the heading, which links of the contents lead to.
  void add(const PageSection& section, const std::vector<PageSection>& inner) {
    contents_ += "<li>" + link(section);
    body_ += fmt::format("<section id={} class=\"part{}\"><h2>{}</h2>\n{}", section.id,
                         section.on_paper ? "" : " screen", section.title, section.html);
    if (!inner.empty()) contents_ += "<ul>";
    for (const PageSection& part : inner) {
      contents_ += "<li>" + link(part) + "</li>";
      body_ += fmt::format("<section id={}{}><h3>{}</h3>\n{}</section>\n", part.id,
                           part.on_paper ? "" : " class=screen", part.title, part.html);
    }
    if (!inner.empty()) contents_ += "</ul>";
    contents_ += "</li>\n";
    body_ += "</section>\n";
  }

  // `lead` says the most important.
  std::string html(const std::string& model, const std::string& subtitle, const std::string& lead) const {
    return fmt::format(
               "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
               "content=\"width=device-width,initial-scale=1\">\n<title>{}: cost report</title>\n<style>{}",
               model, html_style()) +
           fmt::format(
               "</style></head>\n<body><header><h1>{}</h1><p class=dim>{}</p>{}</header>\n<nav "
               "aria-label=Contents><ul>\n{}</ul></nav>\n<main>\n<p class=\"paper dim\">On paper, tables end "
               "after their first rows, and long tables, drawings of tensors and most about other layouts "
               "than the first are left out. The page on a screen has them "
               "all.</p>\n{}</main>\n<script>{}</script></body></html>\n",
               model, subtitle, lead, contents_, body_, html_script());
  }

 private:
  std::string contents_, body_;
};

}  // namespace

std::string report_html(const std::vector<ComparedLayout>& layouts, const PageOptions& options) {
  const std::vector<size_t> order = best_first(layouts);
  const std::string model = layouts.empty() ? "" : layouts.front().model;
  Page page;
  if (layouts.size() > 1) {
    const std::string points = comparison_points(layouts, order);
    std::vector<PageSection> inner;
    if (!points.empty()) inner.push_back({"points", "Time and memory", points});
    page.add({"comparison", "Layouts",
              fmt::format("<p class=dim>{} comes first. Numbers say in which order the layouts were "
                          "given.</p>\n",
                          has_best(layouts) ? "The best" : "The layout that needs least memory") +
                  comparison_table(layouts, order, kMostInDetail)},
             inner);
  }
  size_t shown = 0;
  std::string entry, lead = layouts.size() > 1 ? comparison_verdict(layouts, order) : "";
  for (const size_t index : order) {
    if (!layouts[index].report || ++shown > kMostInDetail) continue;
    const CostReport& report = *layouts[index].report;
    if (shown == 1) entry = report.entry;
    const bool lead_of_page = layouts.size() == 1;
    if (lead_of_page) lead = verdict(report);
    const size_t given = number_of(layouts, index);
    const std::string number = layouts.size() > 1 ? fmt::format("{} ", given) : "";
    std::vector<PageSection> inner = sections_of(layouts[index], given, options);
    // Paper has the totals of each layout, and the other sections of the best one.
    for (PageSection& section : inner)
      if (shown > 1 && !section.id.starts_with("totals")) section.on_paper = false;
    page.add({fmt::format("details-{}", given), number + layout_markup(report.layout),
              (lead_of_page ? "" : verdict(report)) + figures(report) + warnings_list(report),
              shown <= kMostOnPaper},
             inner);
  }
  std::string subtitle = html_escaped(entry) + ", predicted by mtfc";
  if (shown > kMostInDetail)
    subtitle += fmt::format(". The first {} of {} layouts are shown in detail", kMostInDetail, shown);
  page.add({"origin", "Where the figures come from", origin_list(options.origin, model)}, {});
  return page.html(html_escaped(model), subtitle, lead);
}

}  // namespace mtfc
