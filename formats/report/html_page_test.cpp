// Runs the scripts of pages in an engine without a browser. What a browser makes of them, scripts/check_pages.sh looks at.

#include "formats/report/html_page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"
#include "core/testing/text.h"
#include "formats/testing/drawn_page.h"

namespace mtfc::html_page_test {

TEST_CASE("the scripts of a page pass their own tests") {
  if (!has_script_engine()) return skip_without("node", "what pages draw is not tested");
  const std::string tests = contents(std::string(kSourceFolder) + "/formats/report/page/page_test.js");
  REQUIRE(tests.size() > 1000);
  CHECK(printed_by(page_script(html_page("", {}, "")) + tests) == "all checks passed\n");
}

TEST_CASE("a page stands alone, and nothing of a name is markup") {
  const std::string hostile = "</script><b>&\"'</noscript><!--\x1b[2J\xE2\x80\xA8\xE2\x80\xAE\xFF{{data}}";
  const std::string shown = "</script><b>&\"'</noscript><!--\\x1b[2J\\u2028\\u202e\\xff{{data}}";
  const std::string page = html_page(hostile, {{"a", hostile}, {"b", Json::array({Json::array({hostile})})}},
                                     "1 < 2 & </pre></noscript>\n");
  CHECK(page.starts_with("<!doctype html>\n"));
  CHECK(page.ends_with("</html>\n"));
  for (const char* loaded : {"http:", "https:", "src=", "<link", "@import", "url("})
    CHECK_FALSE(has(page, loaded));
  CHECK(has(
      page,
      "<title>&lt;/script>&lt;b>&amp;\"'&lt;/noscript>&lt;!--\\x1b[2J\\u2028\\u202e\\xff{{data}}</title>"));
  CHECK(has(page, "<noscript><pre>1 &lt; 2 &amp; &lt;/pre>&lt;/noscript>\n</pre></noscript>"));
  CHECK(page_data(page)["a"] == shown);
  CHECK(page_data(page)["b"][0][0] == shown);
  // Two scripts end, and no name ends one.
  size_t ends = 0;
  for (size_t at = 0; (at = page.find("</script", at)) != std::string::npos; ++at) ++ends;
  CHECK(ends == 2);
  CHECK(page.find("<b>") == page.find("<b>${name}"));  // in the script itself
}

TEST_CASE("a figure is a number and its text") {
  CHECK(figure(1.0 / 3, "a third").dump() == "[0.333333,\"a third\"]");
  CHECK(figure(1234567).dump() == "[1234567,\"1,234,567\"]");
  CHECK(seconds_figure(0.0667).dump() == "[0.0667,\"66.7 ms\"]");
  CHECK(rounded(123456789.25, 9) == 123456789);
}

}  // namespace mtfc::html_page_test
