#include "formats/layout/layout_writer.h"

#include <doctest/doctest.h>

#include "formats/layout/layout_reader.h"

namespace mtfc::layout_writer_test {

TEST_CASE("a layout that is written is the layout that is read") {
  const Layout layout{Mesh({{"rows", 2}, {"cols", 3}}, {0, 2, 4, 1, 3, 5}),
                      {{"batch", {0}, {}}, {"hidden", {1, 0}, {}}},
                      {},
                      false,
                      {{{"experts", {1}, {}}, "moe_*/**"}}};
  const std::string text = layout_json(layout, "why");
  CHECK(text ==
        "{\n \"doc\": \"why\",\n \"mesh\": [[\"rows\",2],[\"cols\",3]],\n"
        " \"rules\": "
        "[[\"batch\",\"rows\"],[\"hidden\",[\"cols\",\"rows\"]],[\"experts\",\"cols\",{\"in\":\"moe_*/"
        "**\"}]],\n"
        " \"device_order\": [0,2,4,1,3,5]\n}\n");
  LayoutSources sources;
  sources.file = "layout.json";
  sources.file_text = text;
  const Layout read = read_layout(sources);
  CHECK(read.mesh == layout.mesh);
  CHECK(to_string(read) == to_string(layout));
}

TEST_CASE("rules between parts are written as they are read") {
  Layout layout{Mesh({{"rows", 2}, {"cols", 3}}), {{"hidden", {1}, {}}}};
  layout.between = {{"length", {0, 1}, {}}};
  LayoutSources sources;
  sources.file = "layout.json";
  sources.file_text = layout_json(layout, "");
  CHECK(to_string(read_layout(sources)) == "hidden:cols, length:rows+cols between parts");
}

TEST_CASE("what a layout lacks is left out") {
  CHECK(layout_json({Mesh({{"a", 2}}), {}}, "") == "{\n \"mesh\": [[\"a\",2]],\n \"rules\": []\n}\n");
}

}  // namespace mtfc::layout_writer_test
