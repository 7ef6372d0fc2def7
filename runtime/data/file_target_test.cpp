// Links to files that are written: own ones are followed, and those that another user has laid in a folder of all are
// not.

#include "runtime/data/file_target.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/testing/scratch_folder.h"
#include "core/testing/skip.h"

namespace mtfc::file_target_test {

namespace fs = std::filesystem;

TEST_CASE("a link to a file that exists, or does not, is followed to its end") {
  const ScratchFolder folder;
  folder.write("file", "");
  fs::create_symlink("file", folder / "link");
  fs::create_symlink("link", folder / "link2");
  fs::create_symlink("absent", folder / "dangling");
  for (const auto& [link, end] :
       {std::pair("file", "file"), {"link", "file"}, {"link2", "file"}, {"dangling", "absent"}}) {
    const FileTarget target = file_target(folder / link);
    CHECK(target.path == folder / end);
    CHECK(target.replaced);
    CHECK(target.reason == 0);
  }
  CHECK_FALSE(file_target("/dev/null").replaced);
  CHECK(file_target("/dev/null").reason == 0);
}

TEST_CASE("a link that another user has laid in a folder of all is not followed") {
  if (geteuid() != 0) return skip_without("root", "only root can give a link to another user");
  constexpr uid_t kOther = 12345, kThird = 12346;
  const ScratchFolder folder;
  folder.write("victim", "precious");
  fs::create_directory(folder / "shared");
  for (const char* name : {"planted", "dangling", "own"})
    fs::create_symlink(name == std::string("dangling") ? "../absent" : "../victim",
                       folder / ("shared/" + std::string(name)));
  for (const char* name : {"planted", "dangling"})
    REQUIRE(lchown((folder / ("shared/" + std::string(name))).c_str(), kOther, kOther) == 0);
  fs::create_symlink("shared/planted", folder / "to planted");
  const auto reason = [&](const std::string& name) { return file_target(folder / name).reason; };
  const auto open_folder = [&](mode_t mode, uid_t owner) {
    REQUIRE(chmod((folder / "shared").c_str(), mode) == 0);
    REQUIRE(chown((folder / "shared").c_str(), owner, owner) == 0);
  };
  open_folder(01777, kThird);
  CHECK(reason("shared/planted") == EACCES);
  CHECK(reason("shared/dangling") == EACCES);
  CHECK(reason("to planted") == EACCES);
  CHECK(reason("shared/own") == 0);
  open_folder(01777, 0);
  CHECK(reason("shared/planted") == EACCES);
  // The rule of the system: whoever owns the folder may lay links there, and other folders have no such rule.
  open_folder(01777, kOther);
  CHECK(reason("shared/planted") == 0);
  for (const mode_t mode : {00777, 01775, 00755}) {
    open_folder(mode, kThird);
    CHECK(reason("shared/planted") == 0);
  }
}

}  // namespace mtfc::file_target_test
