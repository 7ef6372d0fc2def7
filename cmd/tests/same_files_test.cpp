// Ranks that read copies of their own, as on hosts without a shared file system.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cmd/testing/training_folder.h"
#include "runtime/processes/job.h"

namespace mtfc::same_files_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Two folders with the model and its data, each of which is the working directory of a rank.
struct TwoHosts {
  TrainingFolder folder;
  const std::string host = host_name();
  TwoHosts() {
    for (const char* name : {"a", "b"}) {
      fs::create_directory(folder.path / name);
      for (const char* file : {"model.json", "x.npy"})
        fs::copy(folder.path / file, folder.path / name / file);
    }
  }
  // Runs the command with rank 0 in the folder `a` and rank 1 in `b`, and returns what it says.
  std::string said(const std::string& options, const std::string& command = "run model.json -q") const {
    const std::string rank = fmt::format("-n 1 $MTFC {} --mesh r:2 --layout batch:r {}", command, options);
    return folder.said(fmt::format("$HANG_GUARD mpiexec.mpich -wdir $PWD/a {0} : -wdir $PWD/b {0}", rank));
  }
  void change(const std::string& file) const {
    std::string bytes = folder.read(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(folder / file, std::ios::binary) << bytes;
  }
  std::string places(const std::string& text) const {
    return fmt::format(fmt::runtime(text), fmt::format("rank 0 (host '{}')", host),
                       fmt::format("rank 1 (host '{}')", host));
  }
};

// Takes the last row away.
void shorten(const TwoHosts& hosts, const std::string& file) {
  std::string bytes = hosts.folder.read(file);
  bytes.replace(bytes.find("(47, 5)"), 7, "(46, 5)");
  bytes.resize(bytes.size() - 5 * sizeof(float));
  std::ofstream(hosts.folder / file, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("ranks that read different copies of a file end with one line") {
  const TwoHosts hosts;
  const std::string input = "--input x=x.npy --steps 2";
  CHECK(hosts.said(input) == "exit 0: ");
  hosts.change("b/x.npy");
  const std::string contents = hosts.places(
      "the ranks read different copies of 'x.npy': its contents on {1} differ from those on {0}");
  CHECK(hosts.said(input) == refusal(contents));
  CHECK(hosts.said("--input x=random:normal --valid x=x.npy") == refusal(contents));
  shorten(hosts, "b/x.npy");
  const std::string length =
      hosts.places("the ranks read different copies of 'x.npy': it has 1011 bytes on {0}, but 991 on {1}");
  CHECK(hosts.said(input) == refusal(length));
  fs::remove(hosts.folder.path / "b/x.npy");
  CHECK(hosts.said(input) ==
        refusal(fmt::format("cannot read the data of input 'x' from 'x.npy': No such file or directory "
                            "(rank 1, host '{}')",
                            hosts.host)));
  // If all ranks fail in the same way, the message names no host.
  fs::remove(hosts.folder.path / "a/x.npy");
  CHECK(hosts.said(input) ==
        refusal("cannot read the data of input 'x' from 'x.npy': No such file or directory"));
}

TEST_CASE("ranks that load different weights end with one line") {
  const TwoHosts hosts;
  REQUIRE(hosts.folder.said("$RUN --steps 1 --checkpoint a/ck --output w=a/w.npy") == "exit 0: ");
  fs::copy(hosts.folder.path / "a", hosts.folder.path / "b",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  const std::string file = "ck/step_00000001/variables.safetensors",
                    random = "--input x=random:normal --steps 2 ";
  CHECK(hosts.said(random + "--load ck") == "exit 0: ");
  CHECK(hosts.said(random + "--load w=w.npy") == "exit 0: ");
  hosts.change("b/" + file);
  hosts.change("b/w.npy");
  const std::string differ =
      "the ranks read different copies of '{2}': its contents on {1} differ from those on {0}";
  const auto text = [&](const std::string& name) {
    std::string with_name = differ;
    with_name.replace(with_name.find("{2}"), 3, name);
    return refusal(hosts.places(with_name));
  };
  CHECK(hosts.said(random + "--load ck") == text(file));
  CHECK(hosts.said(random + "--load w=w.npy") == text("w.npy"));
  std::ofstream(hosts.folder / "b/ck/step_00000001/checkpoint.json")
      << R"({"mtfc_checkpoint": 1, "model": "tiny", "step": 1, "seed": 0, "rows": 7})";
  const std::string resumed = hosts.said(random + "--checkpoint ck --resume");
  CHECK(resumed.starts_with(
      "exit 1: mtfc: error: the ranks read different copies of 'ck/step_00000001/checkpoint.json'"));
}

TEST_CASE("a run that continues with other data warns of them") {
  const TrainingFolder folder;
  const std::string model = folder.read("model.json");
  folder.write("model.json", R"({"data": {"x": "random:normal"}, )" + model.substr(model.find('{') + 1));
  REQUIRE(folder.said("$RUN --steps 1 --checkpoint ck") == "exit 0: ");
  const Json notes = Json::parse(folder.read("ck/step_00000001/checkpoint.json"));
  CHECK(notes["files"]["x"]["file"] == "x.npy");
  CHECK(notes["files"]["x"]["bytes"] == fs::file_size(folder.path / "x.npy"));
  CHECK(notes["files"]["x"]["hash"].get<std::string>().size() == 16);
  std::string bytes = folder.read("x.npy");
  const auto said = [&](const std::string& input, const std::string& mesh) {
    fs::remove_all(folder.path / "more");
    fs::copy(folder.path / "ck", folder.path / "more", fs::copy_options::recursive);
    const std::string text = folder.said("$MTFC run model.json --steps 2 --checkpoint more --resume " +
                                         (input.empty() ? "" : "--input x=" + input) + mesh + " >out");
    CHECK(text.starts_with("exit 0: "));
    const size_t at = text.find("mtfc: warning: ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  for (const std::string mesh : {"", " --mesh r:2 --layout batch:r"}) {
    CAPTURE(mesh);
    std::ofstream(folder / "x.npy", std::ios::binary) << bytes;
    fs::copy_file(folder.path / "x.npy", folder.path / "same.npy", fs::copy_options::overwrite_existing);
    CHECK(said("x.npy", mesh).empty());
    CHECK(said("same.npy", mesh).empty());
    CHECK(said("random:normal", mesh).empty());
    CHECK(
        said("", mesh) ==
        "mtfc: warning: the data of the input 'x' have changed: they are the model's own, random:normal, but "
        "'more/step_00000001' was made with 'x.npy' (give it again with --input)");
    std::string other = bytes;
    other.back() = static_cast<char>(other.back() ^ 1);
    std::ofstream(folder / "x.npy", std::ios::binary) << other;
    CHECK(said("x.npy", mesh) ==
          "mtfc: warning: the data of the input 'x' have changed: the contents of 'x.npy' are not those that "
          "'more/step_00000001' was made with");
    other = bytes;
    other.replace(other.find("(47, 5)"), 7, "(46, 5)");
    other.resize(other.size() - 5 * sizeof(float));
    std::ofstream(folder / "less.npy", std::ios::binary) << other;
    CHECK(said("less.npy", mesh) ==
          fmt::format("mtfc: warning: the data of the input 'x' have changed: 'less.npy' has {} bytes, but "
                      "'more/step_00000001' was made with {} bytes of 'x.npy'",
                      other.size(), bytes.size()));
  }
}

}  // namespace mtfc::same_files_test
