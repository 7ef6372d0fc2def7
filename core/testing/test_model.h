#pragma once
// A model that a test builds in code.
//
//   TestModel model;
//   const TensorId x = model.input("x", {{"m", 16}, {"k", 32}});
//   model.output(model.op("sum", "reduce_sum", {x}));
//   const Program program = model.compiled(Mesh({{"p", 4}}), {{"k", {0}}});

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"
#include "core/program/program.h"

namespace mtfc {

class TestModel {
 public:
  /// Dimensions that no tensor need have; those of tensors are added to them.
  explicit TestModel(Dims dims = {}) { model_.dims = std::move(dims); }

  /// The dimensions so called.
  Dims dims(const std::vector<std::string>& names) const;

  TensorId input(const std::string& name, const Dims& dims, DType dtype = DType::kF32);
  /// The variable's dtype is f32.
  TensorId variable(const std::string& name, const Dims& dims, bool trainable = false);
  TensorId op(const std::string& name, std::string_view kind, const std::vector<TensorId>& operands,
              const Attributes& attributes = {});
  /// Without a name of its own, as if the compiler had made it.
  TensorId op(std::string_view kind, const std::vector<TensorId>& operands,
              const Attributes& attributes = {}) {
    return b_.op(kind, operands, attributes);
  }
  /// Its first result.
  TensorId composite(const std::string& name, std::string_view kind, const std::vector<TensorId>& operands,
                     const Attributes& attributes = {});
  TensorId gradient(const std::string& name, TensorId of, TensorId in);

  /// Dimensions that only attributes name.
  void declare(const Dims& dims) { model_.dims = unite(model_.dims, dims); }
  void output(TensorId id) { model_.outputs.push_back({b_.graph().tensor(id).name, id}); }
  void assign(const std::string& variable, TensorId value) {
    model_.assignments.push_back({variable, value, {}});
  }
  void train(TrainSpec spec) { model_.train = std::move(spec); }

  /// The model is done, and moves to the caller.
  Model finished();
  Program compiled(const Mesh& mesh, const std::vector<std::pair<std::string, AxisList>>& rules);

 private:
  TensorId named(const std::string& name, TensorId id);

  Model model_;
  GraphBuilder b_;
};

}  // namespace mtfc
