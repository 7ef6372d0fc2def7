#pragma once
// `--map FROM=TO` renames tensors of a file to their names in the model.
//
// FROM is matched with the whole name; each * matches any characters except . and /, and is replaced by the
// same ones in TO. The first matching pattern counts; an empty TO omits the tensor. Example: with
// `h.*.mlp.*.weight=layer_*/ffn/*`, the name h.3.mlp.c_fc.weight becomes layer_3/ffn/c_fc.
//
// Files may hold several variables as one tensor, or one as several:
//   qkv.weight = q + k + v             q, k and v are its first, second and third rows
//   qkv.weight = q + k + v per heads   the same for each index of the dimension `heads`, which is their first
//   experts.#.up.weight = up[#]        index # of the variable's first dimension; # stands for digits

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/model.h"

namespace mtfc {

/// Says what is wrong with a rule; "" if nothing is.
std::string rule_problem(const std::string& rule);

/// A placement says in which variables the elements of a tensor belong.
struct Placement {
  std::vector<std::string> variables;
  std::string per;               // "": one variable after another; otherwise for each index of this dimension
  std::optional<int64_t> index;  // of the first dimension of the only variable
};

/// A tensor of files, by its name there.
struct NamedPlacement {
  std::string name;
  Placement placement;
};

class NameMap {
 public:
  NameMap() = default;
  /// `rules` are FROM=TO, or files of such lines, in which empty lines and those that begin with # are
  /// ignored. Throws UserError for an invalid rule and for a file that can't be read.
  explicit NameMap(const std::vector<std::string>& rules);
  /// Rules that follow these: those of a model, for files of its family. They need not rename anything.
  void add_of_model(const std::vector<std::string>& rules);
  /// Returns where the tensor `name` belongs: in the variable of that name if no pattern matches; nullopt if it is to
  /// be omitted.
  std::optional<Placement> placed(const std::string& name) const;
  /// The tensors that hold the variables, in the order of the first variable of each: the names that the rules rename
  /// to theirs. Of several rules that could, the one counts of which stars stand for the least text, and then the
  /// first. A variable that no rule names is a tensor of its own name. Throws UserError if the rules give a variable's
  /// own name to something else.
  std::vector<NamedPlacement> tensors_of(const std::vector<VariableDecl>& variables) const;
  /// Throws UserError for a rule that renames none of `names`, the tensors of all files: a mistake in it would have no
  /// other effect. Rules that leave tensors out may find none, and so may rules of a file as long as one finds some.
  void require_use(const std::vector<std::string>& names) const;

 private:
  // The name of the tensor that holds the variable, with # for an index; `variables` are all of the model.
  std::optional<std::string> name_of(const std::string& variable,
                                     const std::set<std::string>& variables) const;
  void add(const std::string& rule, const std::string& origin, const std::string& file);
  struct Rule {
    std::string from, to;
    std::string origin;  // "--map", or the line of a file
    std::string file;    // "" for a rule of the command line
    bool is_of_model = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace mtfc
