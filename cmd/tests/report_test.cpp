// `mtfc report`: from the files of a run to text, JSON and a page.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/training_folder.h"
#include "formats/testing/drawn_page.h"

namespace mtfc::report_test {
namespace {

using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Folder : TrainingFolder {
  Folder() {
    REQUIRE(said("$RUN --steps 6 --valid x=x.npy --valid-every 2 --metrics a.jsonl --report r.json "
                 "--hardware local "
                 "--mesh a:2 --layout hidden:a") == "exit 0: ");
    REQUIRE(said("$RUN --steps 4 --optimizer sgd --metrics b.jsonl") == "exit 0: ");
  }
};

}  // namespace

TEST_CASE("a report has the figures of the metrics and of the report of the run") {
  const Folder folder;
  CHECK(folder.said("$MTFC report a.jsonl b.jsonl --report r.json --format json >out") == "exit 0: ");
  const Json report = Json::parse(folder.read("out"));
  std::vector<double> losses;
  std::ifstream log(folder / "a.jsonl");
  for (std::string line; std::getline(log, line);) losses.push_back(Json::parse(line)["loss"].get<double>());
  const Json& loss = report["runs"][0]["metrics"]["loss"];
  CHECK(loss["first"] == losses.front());
  CHECK(loss["last"] == losses.back());
  CHECK(loss["least"] == *std::min_element(losses.begin(), losses.end()));
  CHECK(loss["steps"] == 6);
  CHECK(report["runs"][0]["metrics"]["valid/loss"]["steps"] == 3);
  CHECK(report["runs"][1]["last_step"] == 4);
  const Json time = Json::parse(folder.read("r.json"))["run"]["time"];
  CHECK(report["time"]["seconds_per_step"] == time["seconds_per_step"]);
  CHECK(report["time"]["predicted_seconds_per_step"] == time["predicted_seconds_per_step"]);
  for (const auto& [kind, times] : time["by_kind"].items()) {
    CHECK(report["time"]["by_kind"][kind]["seconds"] == times["seconds"]);
    CHECK(report["time"]["by_kind"][kind]["predicted_seconds"] == times["predicted_seconds"]);
  }
}

TEST_CASE("each of several runs has the times of its own report") {
  const Folder folder;
  REQUIRE(folder.said("$RUN --steps 4 --report s.json") == "exit 0: ");
  const std::string both = "$MTFC report a.jsonl b.jsonl --report r.json --report s.json ";
  CHECK(folder.said(both + "--format json >out") == "exit 0: ");
  const Json report = Json::parse(folder.read("out"));
  CHECK(!report.contains("time"));
  for (const auto& [run, file] : {std::pair(0, "r.json"), std::pair(1, "s.json")})
    CHECK(report["runs"][run]["time"]["seconds_per_step"] ==
          Json::parse(folder.read(file))["run"]["time"]["seconds_per_step"]);
  CHECK(folder.said(both + ">out") == "exit 0: ");
  CHECK(has(folder.read("out"), "\na.jsonl: tiny, train on a:2: 2 ranks, "));
  CHECK(has(folder.read("out"), "\nb.jsonl: tiny, train on one device: 1 rank, "));
  CHECK(folder.said(both + "-o r.html") == "exit 0: ");
  const Json page = page_data(folder.read("r.html"));
  REQUIRE(page["times"].size() == 2);
  CHECK(page["runs"][0]["file"] == "a.jsonl");
  CHECK(page["times"][0]["about"].get<std::string>().starts_with("tiny, train on a:2. Mean over "));
  CHECK(page["times"][0]["total"][2].is_array());
  CHECK(page["times"][1]["about"].get<std::string>().starts_with("tiny, train on one device. "));
  CHECK(page["times"][1]["total"][2].is_null());
  CHECK(folder.said("$MTFC report a.jsonl --report r.json --report s.json") ==
        "exit 2: mtfc: error: 2 --report are given for 1 file of metrics (give one for each file of metrics, "
        "in "
        "the same order, or a single one)\n");
  CHECK(folder.said("$MTFC report a.jsonl b.jsonl --report - --report - <r.json") ==
        "exit 2: mtfc: error: metrics and --report, or two --report, can't both be read from standard input "
        "(name a file for one of them)\n");
  CHECK(folder.said("$MTFC report r.json") ==
        "exit 2: mtfc: error: r.json is a report of `mtfc run --report`, not a file of metrics (give it with "
        "--report, as in mtfc report METRICS.jsonl --report r.json)\n");
}

TEST_CASE("text is for the terminal, and the name of the file says what it is to be") {
  const Folder folder;
  CHECK(folder.said("$MTFC report a.jsonl --report r.json >out") == "exit 0: ");
  const std::string text = folder.read("out");
  CHECK(text.starts_with("a.jsonl: steps 1 to 6, "));
  CHECK(text.find(" from the start of the run\n") != std::string::npos);
  CHECK(has(text, "\nloss "));
  CHECK(has(text, "\nvalid/loss "));
  CHECK(has(text, "tiny, train on a:2: 2 ranks, "));
  CHECK(has(text, "measured/predicted"));
  CHECK(folder.said("$MTFC report - -o r.html <b.jsonl") == "exit 0: ");
  CHECK(folder.read("r.html").starts_with("<!doctype html>"));
  CHECK(folder.said("$MTFC report a.jsonl -o r.txt; $MTFC report a.jsonl >out") == "exit 0: ");
  CHECK(folder.read("r.txt") == folder.read("out"));
  CHECK(folder.said("$MTFC report a.jsonl -o r.pdf") ==
        "exit 2: mtfc: error: -o: 'r.pdf' ends in .pdf, but a report of runs is written as .html, .json or "
        ".txt (name the "
        "file otherwise; a name without an ending is possible too)\n");
}

TEST_CASE("what a report can't be made of is one error that names the place") {
  const Folder folder;
  const std::string hint = " (each is an object of numbers, as in {\"step\": 1, \"loss\": 2.3})\n";
  CHECK(folder.said("(cat b.jsonl; echo notes; cat b.jsonl) >bad.jsonl; $MTFC report a.jsonl bad.jsonl") ==
        "exit 2: bad.jsonl:5:1: error: this line is not one that `mtfc run --metrics` writes" + hint);
  CHECK(folder.said("$MTFC report none.jsonl")
            .starts_with("exit 2: mtfc: error: cannot read the metrics 'none.jsonl'"));
  CHECK(folder.said("$MTFC report").starts_with("exit 2: mtfc: error: METRICS is missing"));
  CHECK(folder.said("$MTFC report a.jsonl a.jsonl") ==
        "exit 2: mtfc: error: 'a.jsonl' is given more than once (each file is one run)\n");
  CHECK(folder.said("$MTFC report a.jsonl -o a.jsonl --format text") ==
        "exit 2: mtfc: error: 'a.jsonl' is read, so it can't be written (name another file)\n");
  CHECK(folder.said("$MTFC report a.jsonl --report a.jsonl").starts_with("exit 2: a.jsonl:2:1: error: "));
  CHECK(folder.said("$MTFC report a.jsonl --report model.json")
            .starts_with("exit 2: model.json:1:1: error: the file is not what `mtfc run --report` writes: "));
  // A run that was killed, or that still goes on.
  CHECK(
      folder.said("head -c -5 b.jsonl >torn.jsonl; $MTFC report torn.jsonl >out") ==
      "exit 0: torn.jsonl:4:1: warning: the last line is not complete, and is left out: the run was killed, "
      "or still goes "
      "on\n");
  CHECK(folder.read("out").starts_with("torn.jsonl: steps 1 to 3"));
  CHECK(folder.said("$MTFC report -q torn.jsonl >out") == "exit 0: ");
}

}  // namespace mtfc::report_test
