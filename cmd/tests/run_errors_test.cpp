// The messages of a run that fails because of data, files or numbers: the complete text, and exit code 1.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"

namespace mtfc::run_errors_test {
namespace {

namespace fs = std::filesystem;

const char* const kModel = R"({
  "mtfc": 1,
  "dims": {"batch": 2, "length": 3, "vocab": 5},
  "inputs": {
    "x": {"dims": ["batch", "length"]},
    "i": {"dims": ["batch", "length"], "dtype": "i32"}
  },
  "variables": {"table": {"dims": ["vocab"], "init": 1}},
  "ops": [
    {"out": "g", "op": "gather", "in": ["table", "i"], "dim": "vocab"},
    {"out": "y", "op": "add", "in": [{"op": "log", "in": "x"}, "g"]},
    {"out": "rest", "op": "mod", "in": [7, "i"]}
  ],
  "outputs": ["y", "rest"]
}
)";

std::string npy(const std::string& header, const std::string& elements) {
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + elements;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string matrix(const char* type, const std::string& elements) {
  return npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2, 3), }}", type), elements);
}

// Returns the messages of `mtfc run` with `arguments` in a folder with the model and good data, after "exit
// N: ".
std::string said(const ScratchFolder& folder, const std::string& arguments) {
  folder.write("model.json", kModel);
  folder.write("x.npy", matrix("<f4", bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6})));
  folder.write("i.npy", matrix("<i4", bytes_of(std::vector<int32_t>{1, 2, 3, 4, 1, 2})));
  const int status = std::system(fmt::format("cd '{}' && '{}' run model.json -q {} >out 2>err </dev/null",
                                             folder.path.string(), kTestedProgram, arguments)
                                     .c_str());
  return fmt::format("exit {}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("err"));
}

std::string with_x(const ScratchFolder& folder, const std::string& name, const std::string& bytes,
                   const std::string& options = "") {
  folder.write(name, bytes);
  const std::string prefix = name.ends_with(".npy") ? "" : "idx:";
  return said(folder, fmt::format("--input i=i.npy --input x={}{}{}", prefix, name, options));
}

std::string refusal(const std::string& text) {
  return "exit 1: mtfc: error: " + text + "\n";
}

}  // namespace

TEST_CASE("good data are no error") {
  const ScratchFolder folder;
  CHECK(said(folder, "--input x=x.npy --input i=i.npy --check-finite") == "exit 0: ");
}

TEST_CASE("an index out of range names the operation, the step and the place") {
  const ScratchFolder folder;
  folder.write("bad.npy", matrix("<i4", bytes_of(std::vector<int32_t>{1, 1, 1, 1, 5, 1})));
  CHECK(said(folder, "--input x=x.npy --input i=bad.npy") ==
        refusal("evaluate, step 1: /ops/0 (gather 'g'): index 5 at [batch=1, length=1] is out of range: "
                "'vocab' has 5 (row 1 of bad.npy)"));
  CHECK(said(folder, "--input x=x.npy --input i=bad.npy --simulate --mesh a:1,b:2 --layout batch:b") ==
        refusal("evaluate, step 1: /ops/0 (gather 'g'): index 5 at [batch=1, length=1] is out of range: "
                "'vocab' has 5 "
                "(on device a=0,b=1) (row 1 of bad.npy)"));
  CHECK(said(folder, "--input x=x.npy --input i=bad.npy --mesh b:2 --layout batch:b") ==
        "exit 1: mtfc: error: rank 1: evaluate, step 1: /ops/0 (gather 'g'): index 5 at [batch=1, length=1] "
        "is out of "
        "range: 'vocab' has 5 (on device b=1) (row 1 of bad.npy)\n");
}

TEST_CASE("an index out of range names the row of the file, in whatever order rows are taken") {
  const ScratchFolder folder;
  folder.write("loss.json", R"({"mtfc": 1, "dims": {"batch": 2, "classes": 3},
    "inputs": {"labels": {"dims": ["batch"], "dtype": "i32"}},
    "variables": {"w": {"dims": ["classes"], "init": "zeros"}},
    "ops": [{"out": "loss", "op": "reduce_mean", "in": {"op": "gather", "in": ["w", "labels"], "dim": "classes"}}],
    "train": {"loss": "loss", "optimizer": {"kind": "sgd", "lr": 0.1}}, "outputs": ["loss"]})");
  std::vector<int32_t> labels(9, 1);
  labels[7] = 3;
  folder.write("labels.npy",
               npy("{'descr': '<i4', 'fortran_order': False, 'shape': (9,), }\n", bytes_of(labels)));
  for (const char* run : {"--evaluate", "--steps 20", "--steps 20 --mesh a:2 --layout batch:a --simulate"}) {
    CAPTURE(run);
    const int status =
        std::system(fmt::format("cd '{}' && '{}' run loss.json -q --input labels=labels.npy,rows=1:9 {} "
                                ">out 2>err",
                                folder.path.string(), kTestedProgram, run)
                        .c_str());
    CHECK(WEXITSTATUS(status) == 1);
    const std::string error = folder.read("err");
    CAPTURE(error);
    CHECK(error.find("index 3 at [batch=") != std::string::npos);
    CHECK(error.ends_with(" (row 7 of labels.npy)\n"));
  }
}

TEST_CASE("an array whose dimensions have another order names the one that fits") {
  const ScratchFolder folder;
  folder.write("image.json", R"({"mtfc": 1, "dims": {"batch": 2, "rows": 4, "cols": 5, "channels": 3},
    "inputs": {"x": {"dims": ["batch", "rows", "cols", "channels"]}},
    "ops": [{"out": "y", "op": "reduce_mean", "in": "x"}], "outputs": ["y"]})");
  for (const auto& [shape, hint] : std::vector<std::pair<std::string, std::string>>{
           {"6, 3, 4, 5",
            ": its dimensions are in another order (numpy.transpose(array, (0, 2, 3, 1)) has that of the "
            "input)"},
           {"6, 5, 4, 3",
            ": its dimensions are in another order (numpy.transpose(array, (0, 2, 1, 3)) has that of the "
            "input)"},
           {"6, 3, 5, 6", " (--set rows=3 --set channels=6 fits the model to it)"}}) {
    folder.write("x.npy",
                 npy(fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}\n", shape),
                     std::string(6 * (shape.ends_with('6') ? 90 : 60) * sizeof(float), '\0')));
    const int status =
        std::system(fmt::format("cd '{}' && '{}' run image.json --evaluate -q --input x=x.npy >out 2>err",
                                folder.path.string(), kTestedProgram)
                        .c_str());
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(
        folder.read("err") ==
        fmt::format(
            "mtfc: error: x.npy: an array of shape [{}] can't feed the input 'x' of shape [batch=2, rows=4, "
            "cols=5, channels=3]{}\n",
            shape, hint));
  }
}

TEST_CASE("a division by zero names the operation, the step and the place") {
  const ScratchFolder folder;
  folder.write("bad.npy", matrix("<i4", bytes_of(std::vector<int32_t>{1, 1, 0, 1, 1, 1})));
  CHECK(said(folder, "--input x=x.npy --input i=bad.npy") ==
        refusal("evaluate, step 1: /ops/2 (mod 'rest'): the divisor is 0 at [batch=0, length=2]"));
}

TEST_CASE("--check-finite names the operation, the step, the value and the place") {
  const ScratchFolder folder;
  folder.write("bad.npy", matrix("<f4", bytes_of(std::vector<float>{1, 2, 3, 4, 5, -1})));
  CHECK(said(folder, "--input x=bad.npy --input i=i.npy --check-finite") ==
        refusal("evaluate, step 1: /ops/1/in/0 (log 'y.0'): 'y.0' has the value nan at [batch=1, length=2]"));
  CHECK(said(folder,
             "--input x=bad.npy --input i=i.npy --check-finite --simulate --mesh a:3 --layout length:a") ==
        refusal("evaluate, step 1: /ops/1/in/0 (log 'y.0'): 'y.0' has the value nan at [batch=1, length=2] "
                "(on device "
                "a=2)"));
  CHECK(said(folder, "--input x=bad.npy --input i=i.npy") == "exit 0: ");
}

TEST_CASE("an evaluation of initial values is said to be one") {
  const ScratchFolder folder;
  const auto warned = [&](const char* variables, const std::string& options) {
    folder.write("v.json",
                 fmt::format(R"({{"mtfc": 1, "dims": {{"n": 2}}, "inputs": {{"x": {{"dims": ["n"]}}}},
        "variables": {{{}}}, "ops": [{{"out": "y", "op": "reduce_sum", "in": "x"}}], "outputs": ["y"],
        "data": {{"x": "random:normal"}}}})",
                             variables));
    REQUIRE(std::system(fmt::format("cd '{}' && '{}' run v.json --evaluate {} >out 2>err",
                                    folder.path.string(), kTestedProgram, options)
                            .c_str()) == 0);
    return folder.read("err").find(
               "mtfc: warning: there is no --load, so the variables have their initial values "
               "for --seed 3\n") != std::string::npos;
  };
  const char* const kTrained = R"("w": {"dims": ["n"], "init": 1})";
  CHECK(warned(kTrained, "--seed 3"));
  CHECK(warned(kTrained, "--seed 3 --mesh a:2 --layout n:a"));
  CHECK_FALSE(warned(kTrained, "--seed 3 -q"));
  CHECK_FALSE(warned("", "--seed 3"));
  CHECK_FALSE(warned(R"("w": {"dims": ["n"], "init": 1, "trainable": false})", "--seed 3"));
}

TEST_CASE("--check-finite looks at the inputs first, and names the row of the file") {
  const ScratchFolder folder;
  folder.write("bad.npy", matrix("<f4", bytes_of(std::vector<float>{1, 2, 3, 4, NAN, 6})));
  const std::string found = "evaluate, step 1: the input 'x' has the value nan at [batch=1, length=1]";
  CHECK(said(folder, "--input x=bad.npy --input i=i.npy --check-finite") ==
        refusal(found + " (row 1 of bad.npy)"));
  CHECK(said(folder,
             "--input x=bad.npy --input i=i.npy --check-finite --simulate --mesh a:2 --layout batch:a") ==
        refusal(found + " (on device a=1) (row 1 of bad.npy)"));
}

TEST_CASE("what an operation is made of is said to be in it") {
  const ScratchFolder folder;
  const char* const loss = R"({"mtfc": 1, "dims": {"batch": 2, "classes": 3},
    "inputs": {"x": {"dims": ["batch", "classes"]}, "labels": {"dims": ["batch"], "dtype": "i32"}},
    "ops": [{"out": "loss", "op": "reduce_mean",
             "in": {"op": "softmax_cross_entropy", "in": ["x", "labels"], "over": "classes"}}],
    "outputs": ["loss"], "data": {"x": "random:normal", "labels": "random:int,lo=7,hi=8"}})";
  folder.write("loss.json", loss);
  const int status = std::system(
      fmt::format("cd '{}' && '{}' run loss.json -q >out 2>err", folder.path.string(), kTestedProgram)
          .c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(
      folder.read("err") ==
      "mtfc: error: evaluate, step 1: /ops/0/in (gather in 'loss.0'): index 7 at [batch=0] is out of range: "
      "'classes' has 3\n");
}

TEST_CASE("files that can't be written are refused before the first step") {
  const ScratchFolder folder;
  const std::string inputs = "--input x=x.npy --input i=i.npy --steps 1000000000 ";
  const std::string reason = "cannot write 'none/y': No such file or directory";
  CHECK(said(folder, inputs + "--output y=none/y") == refusal(reason));
  CHECK(said(folder, inputs + "--report none/y") == refusal(reason));
  CHECK(said(folder, inputs + "--metrics none/y") == refusal(reason));
  CHECK(said(folder, inputs + "--report none/y --mesh b:2 --layout batch:b") == refusal(reason));
  fs::create_directory(folder.path / "sub");
  CHECK(said(folder, inputs + "--report sub") == refusal("cannot write 'sub': Is a directory"));
  CHECK(said(folder, "--input x=x.npy --input i=i.npy --report /dev/null --output y=sub/y.npy") ==
        "exit 0: ");
  CHECK(fs::exists(folder.path / "sub" / "y.npy"));
}

TEST_CASE("broken .npy files") {
  const ScratchFolder folder;
  const std::string good = matrix("<f4", std::string(24, 'x'));
  CHECK(said(folder, "--input i=i.npy --input x=none.npy") ==
        refusal("cannot read the data of input 'x' from 'none.npy': No such file or directory"));
  folder.write("images.npy", good);
  folder.write("images.bytes", good);
  CHECK(said(folder, "--input i=i.npy --input x=imags.npy") ==
        refusal("cannot read the data of input 'x' from 'imags.npy': No such file or directory (did you mean "
                "'images.npy'?)"));
  CHECK(
      said(folder, "--input i=i.npy --input x=idx:images.byte") ==
      refusal("cannot read the data of input 'x' from 'images.byte': No such file or directory (did you mean "
              "'images.bytes'?)"));
  CHECK(
      said(folder, "--input x=x.npy --input i=text:images.byte") ==
      refusal("cannot read the data of input 'i' from 'images.byte': No such file or directory (did you mean "
              "'images.bytes'?)"));
  CHECK(said(folder, "--input x=x.npy --input i=i.npy --load table=imags.npy") ==
        refusal("cannot read the values of 'table' from 'imags.npy': No such file or directory (did you mean "
                "'images.npy'?)"));
  fs::create_directory(folder.path / "folder.npy");
  CHECK(said(folder, "--input i=i.npy --input x=folder.npy") ==
        refusal("cannot read the data of input 'x' from 'folder.npy': not a regular file"));
  CHECK(said(folder, "--input x=x.npy --input i=i.npy --load table=none.npy") ==
        refusal("cannot read the values of 'table' from 'none.npy': No such file or directory"));
  CHECK(with_x(folder, "a.npy", "") == refusal("a.npy: the file is empty"));
  CHECK(with_x(folder, "a.npy", "PK\3\4" + good) == refusal("a.npy: not a .npy file"));
  CHECK(with_x(folder, "a.npy", good.substr(0, 40)) == refusal("a.npy: the .npy header is cut off"));
  CHECK(with_x(folder, "a.npy", good.substr(0, good.size() - 1)) ==
        refusal("a.npy: the .npy header promises 24 bytes of elements, but the file has 23"));
  CHECK(with_x(folder, "a.npy", good + "y") ==
        refusal("a.npy: the .npy header promises 24 bytes of elements, but the file has 25"));
  CHECK(with_x(folder, "a.npy",
               npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), }", "")) ==
        refusal("a.npy: the .npy header promises 4611686018427387904 bytes of elements, but the file has 0"));
  CHECK(
      with_x(folder, "a.npy", matrix("<c8", std::string(48, 'x'))) ==
      refusal("a.npy: elements of type '<c8' can't be read (u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 b1 can, and V2 "
              "as bf16)"));
  CHECK(with_x(folder, "a.npy",
               npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", std::string(24, 'x'))) ==
        refusal("a.npy: an array of shape [3, 2] can't feed the input 'x' of shape [batch=2, length=3]: its "
                "dimensions are in another order (numpy.transpose(array) has that of the input)"));
  CHECK(
      with_x(folder, "a.npy",
             npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", std::string(32, 'x'))) ==
      refusal("a.npy: an array of shape [2, 4] can't feed the input 'x' of shape [batch=2, length=3] (--set "
              "length=4 fits the model to it)"));
  CHECK(with_x(folder, "a.npy",
               npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", std::string(12, 'x'))) ==
        refusal("a.npy: 1 row is too few for the input 'x', which takes 2 at a time (--set batch=1 fits the "
                "model to "
                "it)"));
  CHECK(said(folder, "--input x=x.npy --input i=x.npy") ==
        refusal("x.npy: f32 values can't fill the input 'i', which is i32"));
  CHECK(said(folder, "--input x=x.npy --input i=i.npy,scale=2") ==
        "exit 2: --input: error: i=i.npy,scale=2: a scale needs floating point, but the input 'i' is i32\n");
  CHECK(said(folder, "--input x=x.npy --input i=random:normal") ==
        "exit 2: --input: error: i=random:normal: this source gives fractions, but the input 'i' is i32 "
        "(random:int,hi=N gives whole numbers)\n");
  CHECK(said(folder, "--input x=x.npy --input i=i.npy --valid x=randm:normal") ==
        "exit 2: --valid: error: x=randm:normal: unknown source 'randm:normal' (did you mean 'random'?)\n");
  CHECK(said(folder, "") ==
        "exit 2: mtfc: error: the input 'x' has no data (give it with --input x=FILE.npy, or under \"data\" "
        "in the "
        "model)\n"
        "mtfc: error: the input 'i' has no data (give it with --input i=FILE.npy, or under \"data\" in the "
        "model)\n");
  folder.write("wide.npy", matrix("<i8", bytes_of(std::vector<int64_t>{1, 2, 3, 4294967296, 1, 2})));
  CHECK(said(folder, "--input x=x.npy --input i=wide.npy") ==
        refusal("wide.npy: the value 4294967296 does not fit in 32 bits"));
  CHECK(said(folder, "--input x=x.npy --input i=i.npy --load table=x.npy") ==
        refusal("x.npy: an array of shape [2, 3] can't be loaded into 'table' of shape [vocab=5]"));
}

TEST_CASE("broken IDX files") {
  const ScratchFolder folder;
  const std::string good = std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12) + "abcdef";
  CHECK(with_x(folder, "a", good) == "exit 0: ");
  CHECK(said(folder, "--input i=i.npy --input x=idx:none") ==
        refusal("cannot read the data of input 'x' from 'none': No such file or directory"));
  CHECK(with_x(folder, "a", "") == refusal("a: the file is empty"));
  CHECK(with_x(folder, "a", "PK\3\4" + good) == refusal("a: not an IDX file"));
  CHECK(with_x(folder, "a", good.substr(0, 10)) == refusal("a: the IDX header is cut off"));
  CHECK(with_x(folder, "a", good.substr(0, 17)) ==
        refusal("a: the IDX header promises 6 bytes of elements, but the file has 5"));
  CHECK(with_x(folder, "a", good + "g") ==
        refusal("a: the IDX header promises 6 bytes of elements, but the file has 7"));
  CHECK(with_x(folder, "a", std::string("\0\0\x0A\x01\0\0\0\x01", 8)) ==
        refusal("a: IDX type 0x0a is not known"));
  CHECK(with_x(folder, "a", "\x1f\x8b\x08") == refusal("a: not an IDX file"));
  CHECK(with_x(folder, "a", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3nonsense", 18))
            .starts_with("exit 1: mtfc: error: a: broken gzip data ("));
  CHECK(with_x(folder, "a", good, ",rows=0:3").starts_with("exit 2: --input: error: x=idx:a,rows=0:3: "));
  folder.write("plain", good);
  REQUIRE(std::system(fmt::format("cd '{}' && gzip -c plain >whole.gz", folder.path.string()).c_str()) == 0);
  const std::string packed = folder.read("whole.gz");
  CHECK(with_x(folder, "a", packed) == "exit 0: ");
  CHECK(with_x(folder, "a", packed.substr(0, packed.size() - 9)) == refusal("a: the gzip data is cut off"));
}

}  // namespace mtfc::run_errors_test
