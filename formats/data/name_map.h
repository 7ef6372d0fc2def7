#pragma once
// `--map FROM=TO`: what tensors of a file are called in the model.
//
// FROM is matched with the whole name; each * stands for any characters but . and /, and for the same ones in
// TO. The first pattern that matches counts; an empty TO leaves the tensor out. Example: of
// `h.*.mlp.*.weight=layer_*/ffn/*` the name h.3.mlp.c_fc.weight becomes layer_3/ffn/c_fc.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtfc {

class NameMap {
 public:
  NameMap() = default;
  /// `rules` are FROM=TO, or files of such lines, where empty ones and those that begin with # count nothing.
  /// Throws UserError for a rule that is none, and for a file that can't be read.
  explicit NameMap(const std::vector<std::string>& rules);
  /// What `name` becomes: itself where no pattern matches; nothing where it is to be left out.
  std::optional<std::string> renamed(const std::string& name) const;

 private:
  void add(const std::string& rule, const std::string& origin);
  std::vector<std::pair<std::string, std::string>> rules_;
};

}  // namespace mtfc
