#include "core/testing/scratch_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace mtfc {
namespace {

namespace fs = std::filesystem;

fs::path made_folder() {
  std::string name = (fs::temp_directory_path() / "mtfc_test_XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  return name;
}

}  // namespace

ScratchFolder::ScratchFolder() : path(made_folder()) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string ScratchFolder::read(const std::string& name) const {
  return contents(*this / name);
}

std::string ScratchFolder::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path / name, std::ios::binary) << bytes;
  return *this / name;
}

std::string contents(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // unlike a stream iterator, stops quietly if reading fails
  return text.str();
}

}  // namespace mtfc
