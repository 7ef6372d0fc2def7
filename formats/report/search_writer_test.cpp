#include "formats/report/search_writer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace mtfc::search_writer_test {

namespace {

CostReport report(double product, double all_reduce, const std::vector<Rule>& rules) {
  CostReport made;
  made.model = "m";
  made.entry = "train";
  made.layout = {Mesh({{"rows", 2}, {"cols", 2}}), rules};
  made.memory_over_steps = {{1}, {2}, {3}, {0}, {0}};
  made.time.emplace().hardware = "h";
  made.time->step_s = product + all_reduce;
  made.steps.resize(2);
  made.steps[0].kind = "einsum";
  made.steps[0].is_product = true;
  made.steps[0].time.seconds = product;
  made.steps[1].kind = "all_reduce";
  made.steps[1].axes = {1};
  made.steps[1].time.seconds = all_reduce;
  return made;
}

const CostReport kBest = report(4e-3, 2e-3, {{"batch", {0}, {}}, {"heads", {1}, {}}});

SearchResult found(bool is_complete) {
  SearchResult result;
  result.best = {{kBest.layout, kBest.time->step_s, 100, 0, 0, 3, 2}, {kBest.layout, 9e-3, 90, 0, 0, 0, 4}};
  result.too_large = FoundLayout{kBest.layout, 1e-3, 3 << 20};
  result.counts = {1e6, 50, 20, 1, 90, 10, 1, 4};
  result.is_complete = result.is_proved = is_complete;
  result.shortest_s = 6e-3;
  result.bound_s = is_complete ? 6e-3 : 4.5e-3;
  return result;
}

}  // namespace

TEST_CASE("why a layout loses") {
  CostReport other = report(10e-3, 0.5e-3, {{"batch", {0, 1}, {}}});
  other.arithmetic.duplication = 1.5;
  CHECK(loss_text(kBest, other) ==
        "+4.50 ms with batch over rows+cols, heads whole: 6.00 ms more products (1.5 times the useful ones), "
        "1.50 ms less all_reduce over cols");
  other.layout.mesh = Mesh({{"rows", 4}, {"cols", 1}});
  CHECK(loss_text(kBest, other).starts_with("+4.50 ms: 6.00 ms more"));
  // Communication beside kernels makes the step shorter.
  CostReport hidden = kBest;
  hidden.time->step_s += 1e-3;
  CHECK(loss_text(kBest, hidden) == "+1.00 ms: 1.00 ms less overlap");
}

TEST_CASE("what was searched, and whether it is proved") {
  const ComparedLayout best{"m", kBest.layout, kBest, "", {}};
  const ComparedLayout other{"m", kBest.layout, report(9e-3, 0, {}), "", {}};
  const SearchResult result = found(true), stopped = found(false);
  TableOptions details;
  details.details = true;
  const std::string text = search_table({result, {best, other}, 2 << 20, 0.5}, details);
  CHECK(text.find("layouts with the same figures are not shown: 3 like [1]\n") != std::string::npos);
  CHECK(text.find("rows:2,cols:2 batch:rows,heads:cols would take 1.00 ms, but needs 3.00 MiB per\ndevice, "
                  "1.00 MiB more than the limit of 2 MiB (search --fit tries it with ZeRO,\ntoo)\n") !=
        std::string::npos);
  CHECK(text.find("variants that split more or less or swap axes, ") != std::string::npos);
  CHECK(text.find("2 like [1], 4 like [2]\n") != std::string::npos);
  CHECK(text.find("searched 1,000,000 rule sets on 1 mesh in 500 ms: 50 legal (20 mirror images of\n"
                  "others, 20 that can't be better, 10 compiled, 4 of these over the memory limit,\n"
                  "1 of these refused by the compiler)\n") != std::string::npos);
  const std::string proved =
      "proved: no layout is faster than 6.00 ms, of all rules for whole dimensions, without ZeRO, "
      "annotations and "
      "propagation, on 1 mesh";
  const auto table = [&](const SearchResult& of, size_t width) {
    TableOptions options;
    options.width = width;
    return search_table({of, {best, other}, 0, 0.5}, options);
  };
  // The verdict is the last line, and the only one that is always there.
  CHECK(table(result, 400).ends_with("\n" + proved + "\n"));
  CHECK(table(result, 400).find("searched") == std::string::npos);
  CHECK(table(result, 400).find("how the others differ") == std::string::npos);
  SearchResult fitted = result;
  fitted.best.front().is_fitted = true;
  CHECK(table(fitted, 400)
            .find("without ZeRO, annotations and propagation, with a quick choice of what is computed again "
                  "(cost-report may find a better one), on 1 mesh\n") != std::string::npos);
  SearchResult fewer = result;
  fewer.devices = 512;
  fewer.fewer = FoundLayout{{Mesh({{"rows", 2}}), {{"batch", {0}, {}}}}};
  fewer.fewer->step_s = result.shortest_s;
  std::string of_many = proved;
  of_many.insert(of_many.find(" is faster"), " of 512 devices");
  CHECK(table(fewer, 400).ends_with(of_many + "; 2 devices are as fast as 512: rows:2 batch:rows\n"));
  fewer.fewer->layout = {};
  CHECK(table(fewer, 400).ends_with(of_many + "; 1 device is as fast as 512: one device without rules\n"));
  fewer.fewer->step_s = 5e-3;
  CHECK(table(fewer, 400).ends_with(of_many + "; 1 device takes only 5.00 ms: one device without rules\n"));
  CHECK(
      table(stopped, 400)
          .ends_with(
              "\nstopped: the best layout so far is not proved to be the best: none is faster than 4.50 ms, "
              "which is 25 % below the 6.00 ms found, of all rules for whole dimensions, without ZeRO, "
              "annotations and propagation, on 1 mesh\n"));
  CHECK(table(stopped, 400)
            .starts_with("m, train: the best 2 of 9 layouts tried, ordered by step time on h, within 1 % by "
                         "the number of rules\n"));
  CHECK(search_table({stopped, {best}, 0, 0.5}, {80, 0})
            .starts_with("m, train: the best of 9 layouts tried\nmesh   rows:2,cols:2\n"));
  SearchResult early = stopped;
  early.bound_s = 0;
  CHECK(table(early, 400)
            .find("stopped: the best layout so far is not proved to be the best, and there was no time "
                  "to find how much faster another one could be, of all rules") != std::string::npos);
  SearchResult partly = stopped;
  partly.is_proved = true;
  CHECK(table(partly, 400)
            .ends_with(proved +
                       "; stopped: layouts that were not tried may be as good as those below the first\n"));
  // The list shows another member of the family than the fastest one.
  SearchResult varied = stopped;
  varied.best.front().step_s = 6.04e-3;
  CHECK(table(varied, 400).find("faster than 4.50 ms, which is 25 % below the 6.04 ms found") !=
        std::string::npos);
  varied.is_proved = true;
  CHECK(table(varied, 400)
            .find("proved: no layout is faster than 6.00 ms, the step of a variant that is not "
                  "shown, of all rules") != std::string::npos);
  const auto json = nlohmann::json::parse(search_json({stopped, {best, other}, 0, 0.5}));
  CHECK(json["proved"] == false);
  CHECK(json["lower_bound_s"] == 4.5e-3);
  CHECK(json["gap"].get<double>() == doctest::Approx(0.25));
  CHECK(json["layouts"][1]["variants"] == 4);
  CHECK(json["memory_limit"].is_null());
  CHECK(json["counts"]["candidates"] == 30);
  CHECK(json["layouts"][1]["slower_by_s"].get<double>() == doctest::Approx(3e-3));
  CHECK(json["layouts"][0]["same_figures"] == 3);
}

}  // namespace mtfc::search_writer_test
