#include "runtime/processes/shared_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/testing/scratch_folder.h"

namespace mtfc::shared_files_test {
namespace {

void make_file(const std::string& path) {
  std::ofstream(path) << std::string(4096, 'x');
}

TEST_CASE("files that killed ranks have left are removed, and no others") {
  const ScratchFolder folder;
  for (const char* name : {"mpich_shar_tmpLEFT", "ucx_shm_posix_left", "mpich_shar_tmpOPEN",
                           "mpich_shar_tmpMAPPED", "another_file"})
    make_file(folder / name);
  std::filesystem::create_symlink("another_file", folder.path / "mpich_shar_tmpLINK");
  const UniqueFd open_file(open((folder / "mpich_shar_tmpOPEN").c_str(), O_RDONLY));
  UniqueFd mapped_file(open((folder / "mpich_shar_tmpMAPPED").c_str(), O_RDONLY));
  void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, mapped_file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  mapped_file.reset();
  // Young files may be in the making.
  CHECK(remove_left_files(folder.path) == 0);
  sleep(3);
  make_file(folder / "mpich_shar_tmpYOUNG");
  {
    const MakesSharedFiles making;
    CHECK(remove_left_files(folder.path) == 0);
  }
  // Ranks of other programs that are just starting make files too, so that nothing is removed for a moment.
  int removed = 0;
  for (int tries = 0; tries < 1000 && removed == 0; ++tries) {
    removed = remove_left_files(folder.path);
    if (removed == 0) usleep(10'000);
  }
  CHECK(removed == 2);
  munmap(mapped, 4096);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path))
    left.push_back(entry.path().filename());
  std::sort(left.begin(), left.end());
  CHECK(left == std::vector<std::string>{"another_file", "mpich_shar_tmpLINK", "mpich_shar_tmpMAPPED",
                                         "mpich_shar_tmpOPEN", "mpich_shar_tmpYOUNG"});
}

}  // namespace
}  // namespace mtfc::shared_files_test
