#pragma once
// `blocks`: the reusable sub-graphs that a model and the files it includes define. Only their form is read
// here; their operations are read at each call (block_reader.h).

#include <map>
#include <string>
#include <vector>

#include "formats/json/cursor.h"

namespace mtfc {

struct Block {
  std::string name;
  Cursor at;
  Location location;      // location of the name
  bool standard = false;  // from the library that ships with mtfc
  bool broken = false;    // its form is wrong, which has been reported
  mutable bool used = false;
  std::vector<NamedCursor> dims;    // formal dimensions, each with a string: the model's dimension that it
                                    // means by default
  std::vector<NamedCursor> params;  // with their defaults
  std::vector<Cursor> in, out;      // strings
};

class BlockTable {
 public:
  /// Reads the object `blocks` of a file.
  void add(const Cursor& blocks, bool standard);
  /// The block `name`, or nullptr.
  const Block* find(const std::string& name) const;
  std::vector<std::string> names() const;
  /// All blocks in the order of their names.
  const std::map<std::string, Block>& all() const { return blocks_; }

 private:
  std::map<std::string, Block> blocks_;
};

}  // namespace mtfc
