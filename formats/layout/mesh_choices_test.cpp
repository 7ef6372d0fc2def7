#include "formats/layout/mesh_choices.h"

#include <doctest/doctest.h>

#include "core/diagnostics/error.h"

namespace mtfc::mesh_choices_test {

namespace {

std::string complaint(std::string_view text, std::optional<int64_t> devices) {
  try {
    mesh_choices(text, devices);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("open sizes are filled in every way") {
  using List = std::vector<std::string>;
  CHECK(mesh_choices("rows:*,cols:*", 8) ==
        List{"rows:1,cols:8", "rows:2,cols:4", "rows:4,cols:2", "rows:8,cols:1"});
  CHECK(mesh_choices("a:*;b:3 c:*", 12) == List{"a:1;b:3 c:4", "a:2;b:3 c:2", "a:4;b:3 c:1"});
  CHECK(mesh_choices("a:*", 7) == List{"a:7"});
  CHECK(mesh_choices("a:2,b:2", std::nullopt) == List{"a:2,b:2"});
  CHECK(mesh_choices("a:2,b:2", 4) == List{"a:2,b:2"});
  CHECK(mesh_choices("a:*,b:*,c:*", 64).size() == 28);
  CHECK(mesh_choices("a:*,b:*", 2147483647).size() == 2);  // a prime
}

TEST_CASE("meshes that can't have so many devices") {
  CHECK(complaint("a:*,b:2", std::nullopt) ==
        "error: the mesh a:*,b:2 leaves sizes open (set the number of devices with --devices N)");
  CHECK(complaint("a:*,b:3", 64) ==
        "error: the mesh a:*,b:3 can't have 64 devices: the axes with a size take 3 of them (a multiple of 3 "
        "works)");
  CHECK(complaint("a:2", 4) ==
        "error: the mesh a:2 has 2 devices, not 4 (leave a size open with *, or leave out --devices)");
  CHECK(complaint("a:*,b:x", 4) ==
        "--mesh:1:7: error: the size of axis 'b' must be a whole number, found 'x'");
  CHECK(complaint("a:**", 4) == "--mesh:1:3: error: the size of axis 'a' must be a whole number, found '**'");
  CHECK(complaint("a:*,b:*,c:*,d:*,e:*,f:*", 1 << 20) ==
        "error: the mesh a:*,b:*,c:*,d:*,e:*,f:* leaves more than 1000 choices of sizes (give the sizes of "
        "some "
        "axes)");
}

}  // namespace mtfc::mesh_choices_test
