#include "runtime/compute/attention_backward.h"

#include "runtime/compute/attention_rows.h"

namespace mtfc {
namespace {

using Operands = AttentionGradientOperands;

template <typename T>
std::vector<T> room(int64_t size) {
  return std::vector<T>(static_cast<size_t>(size));
}

// The products of the rows of a and those of b, which are vectors of `width` elements.
template <typename T>
void multiply_rows(const RowMatrix<T>& a, int64_t rows, const RowMatrix<T>& b, int64_t columns, int64_t width,
                   T* tile) {
  multiply({.m = rows,
            .n = columns,
            .k = width,
            .b_transposed = true,
            .a_leading = a.leading,
            .b_leading = b.leading,
            .c_leading = AttentionPlan::kTilePositions},
           a.at, b.at, tile);
}

}  // namespace

BackwardPlan::BackwardPlan(const KernelSite& site)
    : plan(site, Operands::kExtras),
      q(plan.of_queries(site.operands[0], {plan.dims().inner})),
      k(plan.of_memory(site.operands[1], {plan.dims().inner})),
      v(plan.of_memory(site.operands[2], {plan.dims().value})),
      total(plan.of_queries(site.operands[Operands::kTotal], {})),
      delta(plan.of_queries(site.operands[Operands::kDelta], {})),
      given(plan.of_queries(site.operands[Operands::kGiven], {plan.dims().value})) {}

template <typename T>
BackwardTile<T>::BackwardTile(const BackwardPlan& plan)
    : w_(plan),
      copies_{room<T>(kRows * plan.q.width), room<T>(kRows * plan.given.width),
              room<T>(kColumns * plan.k.width), room<T>(kColumns * plan.v.width)},
      weights_(room<T>(kRows * kColumns)),
      gradients_(room<T>(kRows * kColumns)),
      dropout_(room<T>(plan.plan.has_dropout() ? kRows * kColumns : 0)),
      slopes_(room<T>(plan.plan.cap() > 0 ? kRows * kColumns : 0)),
      totals_(room<T>(kRows)),
      deltas_(room<T>(kRows)) {}

template <typename T>
const T* BackwardTile<T>::operand(size_t i) const {
  return reinterpret_cast<const T*>(run_->operands[i]);
}

template <typename T>
void BackwardTile<T>::begin(const KernelRun& run, int64_t b, Interval rows) {
  run_ = &run;
  b_ = b;
  rows_ = rows;
  q_ = w_.plan.scaled_rows(w_.q, operand(0), b, rows, copies_.q.data());
  given_ = rows_of(w_.given, operand(Operands::kGiven), b, rows, copies_.given.data());
  copy_rows(w_.total, operand(Operands::kTotal), b, rows, totals_.data());
  copy_rows(w_.delta, operand(Operands::kDelta), b, rows, deltas_.data());
}

template <typename T>
void BackwardTile<T>::compute(Interval columns) {
  k_ = rows_of(w_.k, operand(1), b_, columns, copies_.k.data());
  const RowMatrix<T> v = rows_of(w_.v, operand(2), b_, columns, copies_.v.data());
  const ScoreTile<T> weights = {weights_.data(), kColumns, rows_.size(), columns.size()};
  multiply_rows(q_, rows_.size(), k_, columns.size(), w_.q.width, weights_.data());
  if (w_.plan.cap() > 0) cap_scores(weights, static_cast<T>(w_.plan.cap()), slopes_.data());
  w_.plan.finish_scores(*run_, b_, rows_, columns, weights_.data());
  replace_by_weights(weights, totals_.data());
  multiply_rows(given_, rows_.size(), v, columns.size(), w_.v.width, gradients_.data());
  const bool drops = w_.plan.has_dropout();
  if (drops) {
    w_.plan.fill_dropout(*run_, b_, rows_, columns, dropout_.data());
    multiply_elements<T>({gradients_.data(), kColumns, rows_.size(), columns.size()}, dropout_.data());
  }
  replace_by_score_gradients(weights, gradients_.data(), deltas_.data());
  if (drops) multiply_elements(weights, dropout_.data());
}

template <typename T>
void BackwardTile<T>::pass_cap(Interval columns) {
  if (!slopes_.empty())
    multiply_elements<T>({gradients_.data(), kColumns, rows_.size(), columns.size()}, slopes_.data());
}

template class BackwardTile<float>;
template class BackwardTile<double>;

}  // namespace mtfc
