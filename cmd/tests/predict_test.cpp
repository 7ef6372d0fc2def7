// `mtfc predict` writes a row for each row of data, the same under every layout.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "cmd/testing/shell.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::predict_test {
namespace {

// All numbers are small multiples of 1/2, so that no sum is rounded.
const char* const kModel = R"({
  "mtfc": 1,
  "name": "rows",
  "dims": {"batch": 64, "in": 4, "out": 2},
  "inputs": {"x": {"dims": ["batch", "in"]}, "target": {"dims": ["batch"]}},
  "variables": {"w": {"dims": ["in", "out"], "init": 0.5}},
  "ops": [
    {"out": "y", "op": "einsum", "in": ["x", "w"], "dims": ["batch", "out"]},
    {"out": "turned", "op": "transpose", "in": "y", "dims": ["out", "batch"]},
    {"out": "total", "op": "reduce_sum", "in": "y", "over": "out"},
    {"out": "is_large", "op": "greater", "in": ["total", 1000]},
    {"out": "loss", "op": "reduce_mean", "in": {"op": "square", "in": {"op": "sub", "in": ["total", "target"]}}}
  ],
  "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}},
  "outputs": ["loss", "total", "is_large"],
  "data": {"target": "missing.npy"}
})";

const std::vector<const char*> kLayouts = {
    "",
    "--mesh a:2 --layout batch:a",
    "--mesh a:4 --layout batch:a",
    "--mesh a:2,b:2 --layout batch:a,in:b",
    "--mesh a:2 --layout out:a",
    "--mesh a:3 --layout batch:a --simulate",
    "--mesh a:3,b:2 --layout in:a,out:b --simulate",
};

std::string npy(const std::string& shape, const std::vector<float>& values) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

// Row r is r, r + 1/2, r + 1, r + 3/2, and its total 4 r + 3.
std::string data_of(int rows) {
  std::vector<float> values;
  for (int i = 0; i < 4 * rows; ++i)
    values.push_back(static_cast<float>(i / 4) + static_cast<float>(i % 4) / 2);
  return npy(fmt::format("({}, 4)", rows), values);
}

struct Folder : ScratchFolder {
  Folder() { write("model.json", kModel); }
  std::string said(const std::string& arguments) const {
    const Outcome outcome = outcome_of(fmt::format("cd '{}' && '{}' predict model.json {} 2>&1 </dev/null",
                                                   path.string(), kTestedProgram, arguments));
    return fmt::format("exit {}: {}", outcome.code, outcome.text);
  }
};

std::string refusal(const std::string& text) {
  return fmt::format("exit 2: mtfc: error: {}\n", text);
}

TEST_CASE("a prediction has exactly the rows of the data, whatever the layout") {
  const Folder folder;
  for (const int rows : {1001, 64, 3}) {
    folder.write("x.npy", data_of(rows));
    std::string csv = "total,is_large\n", both = "y.0,y.1,turned.0,turned.1\n";
    std::vector<float> outer, inner;
    for (int r = 0; r < rows; ++r) {
      const float half = 2.0F * static_cast<float>(r) + 1.5F;
      csv += fmt::format("{},{}\n", 2 * half, 2 * half > 1000 ? 1 : 0);
      both += fmt::format("{0},{0},{0},{0}\n", half);
      outer.insert(outer.end(), {half, half});
      inner.push_back(half);
    }
    std::vector<float> turned = inner;
    turned.insert(turned.end(), inner.begin(), inner.end());
    for (const char* layout : kLayouts) {
      CAPTURE(rows);
      CAPTURE(layout);
      const std::string data = fmt::format("-q --input x=x.npy {}", layout);
      REQUIRE(folder.said(data + " -o rows.csv") == "exit 0: ");
      CHECK(folder.read("rows.csv") == csv);
      REQUIRE(folder.said(data + " -o both.csv --output-tensor y --output-tensor turned") == "exit 0: ");
      CHECK(folder.read("both.csv") == both);
      for (const auto& [tensor, shape, values] : {std::tuple("y", fmt::format("({}, 2)", rows), outer),
                                                  {"turned", fmt::format("(2, {})", rows), turned}}) {
        REQUIRE(folder.said(fmt::format("{} --output-tensor {} -o y.npy", data, tensor)) == "exit 0: ");
        const std::string bytes = folder.read("y.npy"), expected = npy(shape, values);
        CHECK(bytes.find(fmt::format("'shape': {}", shape)) != std::string::npos);
        CHECK(bytes.substr(128) == expected.substr(expected.size() - values.size() * sizeof(float)));
      }
    }
  }
}

TEST_CASE("files of a pattern feed the same rows as one file") {
  const Folder folder;
  const std::string whole = data_of(300), header_end = "}";
  const size_t begin = whole.find(header_end) + 1;
  folder.write("x.npy", whole);
  REQUIRE(folder.said("-q --input x=x.npy -o whole.csv") == "exit 0: ");
  constexpr int kFirst[] = {0, 70, 71, 200, 300};
  for (int i = 0; i < 4; ++i) {
    std::vector<float> part(static_cast<size_t>(4 * (kFirst[i + 1] - kFirst[i])));
    std::memcpy(part.data(), whole.data() + begin + 16 * kFirst[i], part.size() * sizeof(float));
    folder.write(fmt::format("part-{}.npy", i), npy(fmt::format("({}, 4)", part.size() / 4), part));
  }
  REQUIRE(outcome_of(fmt::format("cd '{}' && gzip part-1.npy part-2.npy && mv part-1.npy.gz part-1.npy && mv "
                                 "part-2.npy.gz part-2.npy",
                                 folder.path.string()))
              .code == 0);
  for (const char* layout : kLayouts) {
    CAPTURE(layout);
    REQUIRE(folder.said(fmt::format("-q --input 'x=part-*.npy' -o rows.csv {}", layout)) == "exit 0: ");
    CHECK(folder.read("rows.csv") == folder.read("whole.csv"));
  }
  CHECK(folder.said("-q --input 'x=part-*.npy' --output-tensor y -o part-2.npy") ==
        refusal("'part-2.npy' is read, so it can't be written (name another file)"));
}

TEST_CASE("a prediction goes to standard output as CSV, or as an array") {
  const Folder folder;
  folder.write("x.npy", data_of(70));
  REQUIRE(folder.said("-q --input x=x.npy -o rows.csv") == "exit 0: ");
  CHECK(folder.said("-q --input x=x.npy --mesh a:2 --layout batch:a") ==
        "exit 0: " + folder.read("rows.csv"));
  REQUIRE(folder.said("-q --input x=x.npy --output-tensor y -o y.npy") == "exit 0: ");
  CHECK(folder.said("-q --input x=x.npy --output-tensor y --format npy --mesh a:2 --layout out:a") ==
        "exit 0: " + folder.read("y.npy"));
  CHECK(folder.said("--input x=x.npy --input target=none.npy -o rows.csv") ==
        "exit 0: mtfc: warning: there is no --load, so the variables have their initial values for --seed 0\n"
        "rows: evaluate, 8 parameters in f32\n"
        "one device: 1 thread, 1.56 KiB\n"
        "data: x from x.npy\n"
        "the prediction does not depend on the input 'target'\n"
        "70 rows written to 'rows.csv'\n");
}

TEST_CASE("a saved program predicts the tensors that it keeps") {
  const Folder folder;
  folder.write("x.npy", data_of(70));
  folder.write("t.npy", npy("(70,)", std::vector<float>(70)));
  REQUIRE(
      outcome_of(fmt::format("cd '{}' && '{}' compile model.json --output y --format json -o program.json",
                             folder.path.string(), kTestedProgram))
          .code == 0);
  const Outcome outcome = outcome_of(fmt::format(
      "cd '{}' && '{}' predict program.json -q --input x=x.npy --input target=t.npy --output-tensor y "
      "2>&1 </dev/null",
      folder.path.string(), kTestedProgram));
  CHECK(outcome.code == 0);
  CHECK(outcome.text.starts_with("y.0,y.1\n1.5,1.5\n3.5,3.5\n"));
}

TEST_CASE("what can't be predicted is refused before anything is computed") {
  const Folder folder;
  folder.write("x.npy", data_of(70));
  folder.write("none.npy", data_of(0));
  const std::string x = "--input x=x.npy ";
  CHECK(folder.said(x + "-o rows.npy") ==
        refusal("a .npy file holds one array, but 'total' and 'is_large' are predicted (choose one with "
                "--output-tensor, or write all of them as .csv)"));
  CHECK(folder.said(x + "--output-tensor loss --input target=random:normal") ==
        refusal("--output-tensor loss: 'loss' of shape [] has no row for each row of data"));
  CHECK(folder.said(x + "--output-tensor w") ==
        refusal("--output-tensor w: 'w' of shape [in=4, out=2] has no row for each row of data"));
  CHECK(folder.said(x + "--output-tensor totale") ==
        refusal("the model has no tensor 'totale' (did you mean 'total'?)"));
  CHECK(folder.said(x + "-o rows.pdf") ==
        refusal("-o: 'rows.pdf' ends in .pdf, but a prediction is written as .csv or .npy (name the file "
                "otherwise; a name without an ending is possible too)"));
  CHECK(folder.said(x + "--output y=y.npy") ==
        refusal(
            "there is no option '--output' (the file is given by -o FILE, and the tensor by --output-tensor "
            "NAME)"));
  CHECK(
      folder.said("-q") ==
      refusal("the input 'x' has no data (give it with --input x=FILE.npy, or under \"data\" in the model)"));
  CHECK(folder.said("-q --input x=x.npy --output-tensor y -o x.npy") ==
        refusal("'x.npy' is read, so it can't be written (name another file)"));
  CHECK(folder.said("-q --input x=none.npy") ==
        "exit 1: mtfc: error: none.npy: 0 rows are too few for the input 'x', which takes 64 at a time\n");
  CHECK(outcome_in_models("$MTFC predict mnist.json") ==
        refusal("no output of the model 'mnist' has a row for each row of data (name a tensor with "
                "--output-tensor: logits, h)"));
}

}  // namespace
}  // namespace mtfc::predict_test
