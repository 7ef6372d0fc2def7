#include "formats/data/image_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/testing/checkout.h"
#include "core/testing/scratch_folder.h"
#include "formats/testing/png_bytes.h"

namespace mtfc::image_folder_test {
namespace {

std::vector<int> bytes_of(const StoredArray& array) {
  size_t count = 1;
  for (const int64_t size : array.shape) count *= static_cast<size_t>(size);
  std::vector<int> values;
  for (size_t i = 0; i < count; ++i) values.push_back(std::to_integer<int>(array.data[i]));
  return values;
}

Dims dims_of(const std::vector<int64_t>& sizes) {
  Dims dims;
  for (const int64_t size : sizes) dims.push_back({fmt::format("d{}", dims.size()), size});
  return dims;
}

// Images of 3 x 2 pixels in two folders.
struct Folder : ScratchFolder {
  Folder() {
    std::filesystem::create_directories(path / "images/dogs");
    std::filesystem::create_directories(path / "images/cats/small");
    write("images/dogs/1.png", png_bytes(3, 2, kGreyPng, std::string("\1\2\3\4\5\6")));
    write("images/cats/small/2.PNG", png_bytes(3, 2, kGreyPng, std::string("\7\7\7\7\7\7")));
    write("images/cats/note.txt", "no image");
    write("images/.hidden.png", "no image");
  }
  std::string images() const { return (path / "images").string(); }
  // Adds a JPEG file of the folder of test data.
  void add(const std::string& name, const std::string& to) const {
    write(to, contents(std::string(kSourceFolder) + "/testdata/images/" + name));
  }
  std::string complaint(const std::vector<int64_t>& input) const {
    try {
      read_images(images(), dims_of(input));
    } catch (const RunError& error) {
      const std::string what = error.what();
      CHECK(what.starts_with(images()));
      return what.substr(images().size());
    }
    return "";
  }
};

}  // namespace

TEST_CASE("images are read in the order of their paths, and their folders are labels") {
  const Folder folder;
  for (const std::string& name : {folder.images(), folder.images() + "/"}) {
    const StoredArray images = read_images(name, {});
    CHECK(images.type == StoredType::kU8);
    CHECK(images.shape == std::vector<int64_t>{2, 2, 3});
    CHECK(bytes_of(images) == std::vector<int>{7, 7, 7, 7, 7, 7, 1, 2, 3, 4, 5, 6});
    const StoredArray labels = read_image_labels(name);
    CHECK(labels.shape == std::vector<int64_t>{2});
    int32_t numbers[2];
    std::memcpy(numbers, labels.data, sizeof numbers);
    CHECK(numbers[0] == 0);
    CHECK(numbers[1] == 1);
  }
  CHECK(read_images(folder.images(), dims_of({9, 2, 3, 1})).shape == std::vector<int64_t>{2, 2, 3, 1});
  const StoredArray colours = read_images(folder.images(), dims_of({9, 2, 3, 3}));
  CHECK(colours.shape == std::vector<int64_t>{2, 2, 3, 3});
  CHECK(bytes_of(colours)[18 + 3] == 2);
}

TEST_CASE("colours lie in channels, last or first, from PNG and JPEG alike") {
  const ScratchFolder scratch;
  std::filesystem::create_directories(scratch.path / "images/a");
  const std::string folder = (scratch.path / "images").string();
  scratch.write("images/a/1.png", png_bytes(3, 2, kColourPng, std::string("abcdefghijklmnopqr")));
  const std::string source = std::string(kSourceFolder) + "/testdata/images/";
  scratch.write("images/a/2.jpg", contents(source + "grey.jpg"));
  scratch.write("images/a/3.jpeg", contents(source + "red.jpg"));
  const StoredArray last = read_images(folder, {});
  REQUIRE(last.shape == std::vector<int64_t>{3, 2, 3, 3});
  const std::vector<int> pixels = bytes_of(last);
  for (int i = 0; i < 18; ++i) {
    CHECK(pixels[static_cast<size_t>(i)] == 'a' + i);
    CHECK(pixels[static_cast<size_t>(18 + i)] == 200);
    CHECK(pixels[static_cast<size_t>(36 + i)] ==
          doctest::Approx(i % 3 == 0 ? 255 : 0).epsilon(0.01).scale(255));
  }
  // Images of 3 x 2 pixels can't have 3 channels first: the last dimension counts then.
  scratch.write("images/a/1.png", png_bytes(2, 4, kColourPng, std::string("abcdefghijklmnopqrstuvwx")));
  std::filesystem::remove(scratch.path / "images/a/2.jpg");
  std::filesystem::remove(scratch.path / "images/a/3.jpeg");
  const StoredArray first = read_images(folder, dims_of({9, 3, 4, 2}));
  REQUIRE(first.shape == std::vector<int64_t>{1, 3, 4, 2});
  CHECK(bytes_of(first)[0] == 'a');
  CHECK(bytes_of(first)[1] == 'd');
  CHECK(bytes_of(first)[8] == 'b');
}

TEST_CASE("images that do not fit, and broken ones, are refused with their names") {
  const Folder folder;
  CHECK(folder.complaint({9, 3, 2}) ==
        "/cats/small/2.PNG: the image has 3 x 2 pixels, but the input has 2 x 3 pixels (images are not "
        "scaled: bring all of them to one size first)");
  folder.write("images/dogs/0.png", png_bytes(3, 2, kColourPng, std::string(18, 'x')));
  CHECK(folder.complaint({9, 2, 3}) ==
        "/dogs/0.png: the image has colours, but the input has not (convert it to grey, or give the input a "
        "dimension "
        "of 3 channels)");
  const auto with = [&](const std::string& bytes) {
    folder.write("images/dogs/0.png", bytes);
    return folder.complaint({9, 2, 3});
  };
  const std::string good = png_bytes(3, 2, kGreyPng, "abcdef");
  CHECK(with(good) == "");
  CHECK(with("") == "/dogs/0.png: the file is empty");
  CHECK(with("text") == "/dogs/0.png: neither a PNG nor a JPEG image");
  CHECK(with(good.substr(0, good.size() - 30)).starts_with("/dogs/0.png: broken PNG data ("));
  CHECK(with(good.substr(0, 20)).starts_with("/dogs/0.png: broken PNG data ("));
  CHECK(
      with(png_bytes(3, 2, kTransparentPng, std::string(24, 'x'))) ==
      "/dogs/0.png: the image has transparent pixels, which are not read (save it without an alpha channel)");
  // The header of a bomb is enough.
  CHECK(with(png_bytes(900000, 900000, kGreyPng, ""))
            .starts_with("/dogs/0.png: the image has 900000 x 900000 pixels"));
  const std::string jpeg = contents(std::string(kSourceFolder) + "/testdata/images/grey.jpg");
  CHECK(with(jpeg) == "");
  CHECK(with(jpeg.substr(0, jpeg.size() - 4)).starts_with("/dogs/0.png: broken JPEG data ("));
  CHECK(with(jpeg.substr(0, 100)).starts_with("/dogs/0.png: broken JPEG data ("));
  CHECK(with(contents(std::string(kSourceFolder) + "/testdata/images/print.jpg")) ==
        "/dogs/0.png: the image has 4 channels, as for printing, which are not read");
}

TEST_CASE("folders without images or without labels are refused") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(read_images(folder / "none", {}), doctest::Contains("No such file or directory"),
                       RunError);
  CHECK_THROWS_WITH_AS(read_images(folder / "images/dogs/1.png", {}), doctest::Contains("Not a directory"),
                       RunError);
  std::filesystem::create_directories(folder.path / "empty");
  CHECK_THROWS_WITH_AS(read_images(folder / "empty", {}),
                       doctest::Contains("empty: the folder has no images (.png, .jpg, .jpeg)"), RunError);
  folder.write("images/0.png", png_bytes(3, 2, kGreyPng, "abcdef"));
  CHECK_THROWS_WITH_AS(
      read_image_labels(folder.images()),
      doctest::Contains("the image '0.png' is in no folder of its own kind, so it has no label"), RunError);
}

}  // namespace mtfc::image_folder_test
