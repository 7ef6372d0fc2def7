#include "core/tensors/mesh.h"

#include <doctest/doctest.h>

namespace mtfc::mesh_test {

TEST_CASE("a rank is the row-major position") {
  const Mesh mesh({{"rows", 2}, {"cols", 3}});
  CHECK(mesh.rank({1, 2}) == 5);
  CHECK(mesh.coordinates(4) == Coordinates{1, 1});
  CHECK(Mesh({{"rows", 2}}, {0, 1}) == Mesh({{"rows", 2}}));
}

TEST_CASE("a device order moves ranks to other positions") {
  const Mesh mesh({{"rows", 2}, {"cols", 3}}, {3, 0, 5, 1, 2, 4});
  CHECK(mesh.rank({0, 0}) == 3);
  CHECK(mesh.rank({1, 1}) == 2);
  for (int64_t rank = 0; rank < 6; ++rank) CHECK(mesh.rank(mesh.coordinates(rank)) == rank);
  CHECK(mesh.coordinates(4) == mesh.last());
  CHECK_FALSE(mesh == Mesh({{"rows", 2}, {"cols", 3}}));
}

}  // namespace mtfc::mesh_test
