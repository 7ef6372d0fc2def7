#pragma once
// Lists of forms, and the cost of bringing a tensor from one form to another. Equal lists and equal tables are made
// once, since layers repeat.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/plan/cost_network.h"
#include "core/plan/plan_prices.h"
#include "core/tensors/ids.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

/// The forms that the options of a choice give or need, one for each option.
using FormsId = Id<struct FormsTag>;

/// The sets of forms in which a tensor may be held for several users, and their costs. A set has at most three forms,
/// and fewer where users need more than a dozen different ones.
struct FormSets {
  std::vector<std::vector<Sharding>> sets;
  std::shared_ptr<const PairCosts> made;                // [form that is given][set]
  std::vector<std::shared_ptr<const PairCosts>> taken;  // per user: [set][form that is needed]
};

class FormTable {
 public:
  explicit FormTable(const PlanPrices& prices) : prices_(prices) {}

  FormsId add(const std::vector<Sharding>& forms);
  const std::vector<Sharding>& operator[](FormsId id) const { return lists_[id]; }

  /// A tensor that is held in several forms.
  struct Held {
    const TensorType& type;
    const Sharding* fixed = nullptr;  // it is brought into this form first; nullptr for none
    bool can_hide = false;            // kernels can hide its collectives
  };
  /// The cost of taking the tensor from a form that is given to one that is needed, for each pair of them.
  std::shared_ptr<const PairCosts> moves(const Held& tensor, FormsId given, FormsId needed);
  /// The same for a tensor with several users.
  const FormSets& sets(const Held& tensor, FormsId given, const std::vector<FormsId>& needed);

  /// The cost of one reshard; impossible if it would make whole values partial.
  PlanCost move(const Held& tensor, const Sharding& from, const Sharding& to) const {
    return prices_.reshard(tensor.type, from, to, tensor.can_hide);
  }
  /// The cheapest way to make all forms of a set from one, each from that one or from another one of the set.
  struct Making {
    PlanCost cost;
    std::vector<std::pair<Sharding, Sharding>> steps;  // a form, and the form it is made from, in order
  };
  Making making(const Held& tensor, const Sharding& from, const std::vector<Sharding>& set) const;

 private:
  std::vector<std::vector<size_t>> sets_of(const Held& tensor, const std::vector<Sharding>& forms,
                                           size_t users) const;
  PairCosts moves(const Held& tensor, const std::vector<Sharding>& from,
                  const std::vector<Sharding>& to) const;
  std::shared_ptr<const PairCosts> taken(const Held& tensor, const std::vector<Sharding>& forms,
                                         const std::vector<std::vector<size_t>>& sets,
                                         const std::vector<Sharding>& needed) const;

  const PlanPrices& prices_;
  IndexedBy<FormsId, std::vector<Sharding>> lists_;
  std::unordered_map<std::string, FormsId> known_;
  std::unordered_map<std::string, std::shared_ptr<const PairCosts>> moves_;
  std::unordered_map<std::string, FormSets> sets_;
};

/// Appends the numbers of a form to a key.
void append_key(std::string& key, const Sharding& sharding);
void append_key(std::string& key, int64_t number);

}  // namespace mtfc
