#pragma once
// For tests: the parts of a random case that index, sum or rank along one dimension, and the composites.

#include "runtime/testing/case_draft.h"

namespace mtfc {

class IndexingDraft : public CaseDraft {
 public:
  using CaseDraft::CaseDraft;

 protected:
  /// Indices along the dimension `indexed`.
  Facts indices(const Dims& dims, const std::string& indexed);

  void one_hot();
  void update_slice();
  void cumsum();
  void top_k();
  void dropout();
  /// A softmax, norm, logsumexp or cross-entropy.
  void normalize();
  /// A product of numbers, or one flag from many.
  void rare_reduction();

 private:
  void norm(const Facts& x, const Dims& over);
  void cross_entropy(const Facts& logits);
};

}  // namespace mtfc
