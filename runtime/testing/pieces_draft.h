#pragma once
// For tests: the parts of a random case that put a dimension together from pieces.

#include "runtime/testing/indexing_draft.h"

namespace mtfc {

class PiecesDraft : public IndexingDraft {
 public:
  using IndexingDraft::IndexingDraft;

 protected:
  /// One tensor's dimension cut, made longer, shifted, reversed or split.
  void pieces();
  /// Tensors one after the other, or side by side.
  void join();

 private:
  void split(const Facts& x, const Dim& dim);
  /// A new tensor of the same type.
  Facts leaf_of(const Facts& like);
};

}  // namespace mtfc
