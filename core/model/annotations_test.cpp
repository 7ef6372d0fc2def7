#include "core/model/annotations.h"

#include <doctest/doctest.h>

#include "core/compile/pipeline.h"
#include "core/testing/test_model.h"
#include "core/testing/text.h"

namespace mtfc::annotations_test {
namespace {

const Mesh kMesh({{"x", 2}, {"y", 2}, {"z", 1}});

// Trains w1 and w2 by momentum.
Model trained() {
  TestModel model;
  const TensorId x = model.input("x", {{"b", 8}, {"i", 6}});
  const TensorId h = model.op("h", "einsum", {x, model.variable("a/w1", {{"i", 6}, {"h", 4}}, true)},
                              {{"dims", Dims{{"b", 8}, {"h", 4}}}});
  const TensorId y = model.op("y", "einsum", {h, model.variable("a/w2", {{"h", 4}, {"o", 10}}, true)},
                              {{"dims", Dims{{"b", 8}, {"o", 10}}}});
  const TensorId loss = model.op("loss", "reduce_mean", {model.op("square", {y})});
  model.output(loss);
  TrainSpec train{loss, "momentum", {{"lr", 0.1}, {"momentum", 0.9}}};
  model.train(train);
  return model.finished();
}

Annotation annotation(const std::string& pattern,
                      const std::vector<std::pair<std::string, AxisList>>& splits) {
  Annotation made{pattern, {}, {}};
  for (const auto& [dim, axes] : splits) made.splits.push_back({dim, axes, {}});
  return made;
}

// "i/x", or "none" for a variable without an annotation.
std::string split_of(const std::vector<Annotation>& annotations, const std::string& name) {
  const Model model = trained();
  const SharedAnnotation found = Annotations(model, {kMesh, {}, annotations}).of_variable(name);
  if (!found) return "none";
  const Dims dims =
      name.find("w1") != std::string::npos ? Dims{{"i", 6}, {"h", 4}} : Dims{{"h", 4}, {"o", 10}};
  return to_string(dims, found->sharding, kMesh);
}

std::string complaint(const Model& model, const Layout& layout) {
  try {
    const Annotations annotations(model, layout);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an exact name comes before a pattern, and a later pattern before an earlier one") {
  const Annotation all = annotation("**", {{"h", {0}}}), some = annotation("a/*", {{"h", {1}}}),
                   one = annotation("a/w1", {{"i", {0, 1}}});
  CHECK(split_of({}, "a/w1") == "none");
  CHECK(split_of({all}, "a/w1") == "i, h/x");
  CHECK(split_of({all, some}, "a/w1") == "i, h/y");
  CHECK(split_of({some, all}, "a/w1") == "i, h/x");
  CHECK(split_of({one, some, all}, "a/w1") == "i/x+y, h");
  CHECK(split_of({one, some, all}, "a/w2") == "h/x, o");
}

TEST_CASE("axes of size 1 split nothing, and an empty annotation replicates") {
  CHECK(split_of({annotation("a/w1", {{"i", {2}}})}, "a/w1") == "i, h");
  CHECK(split_of({annotation("a/w1", {})}, "a/w1") == "i, h");
}

TEST_CASE(
    "gradients and optimizer state are split like their variable, unless they are annotated themselves") {
  const Annotation w1 = annotation("a/w1", {{"h", {0}}});
  CHECK(split_of({w1}, "a/w1/grad") == "i, h/x");
  CHECK(split_of({w1}, "a/w1/momentum") == "i, h/x");
  CHECK(split_of({w1, annotation("a/w1/grad", {{"i", {1}}})}, "a/w1/grad") == "i/y, h");
  CHECK(split_of({w1, annotation("**/momentum", {})}, "a/w1/momentum") == "i, h");
  CHECK(split_of({w1}, "a/w2/grad") == "none");
}

TEST_CASE("a layout comes before the model, and without a mesh the model's annotations say nothing") {
  Model model = trained();
  model.annotations.push_back({"a/w1", {{"i", {{"x", {}}}}}, {}});
  const auto split = [&](const Layout& layout) {
    const SharedAnnotation found = Annotations(model, layout).of_variable("a/w1");
    return found ? to_string(Dims{{"i", 6}, {"h", 4}}, found->sharding, layout.mesh) : "none";
  };
  CHECK(split({kMesh, {}}) == "i/x, h");
  CHECK(split({kMesh, {}, {annotation("a/*", {{"h", {1}}})}}) == "i, h/y");
  CHECK(split({}) == "none");
  CHECK(complaint(model, {Mesh({{"rows", 2}}), {}}).find("the mesh has no such axis") != std::string::npos);
}

TEST_CASE("what matches nothing is reported") {
  const std::string text = complaint(
      trained(),
      {kMesh, {}, {annotation("a/w3", {}), annotation("b/**", {}), annotation("a/w1", {{"o", {0}}})}});
  CHECK(text.find("the model has no tensor 'a/w3' (did you mean 'a/w1'?)") != std::string::npos);
  CHECK(text.find("the pattern 'b/**' matches no tensor") != std::string::npos);
  CHECK(text.find("'a/w1' has no dimension 'o'") != std::string::npos);
}

namespace {

// The sharding that a layout of rules gives a variable as an annotation. The rule b:x is for all tensors.
std::string split_by(const std::vector<LimitedRule>& rules, const std::string& name,
                     const std::vector<Annotation>& annotations = {}) {
  const Model model = trained();
  const Layout layout{kMesh, {{"b", {0}, {}}, {"i", {0}, {}}}, annotations, false, rules};
  const SharedAnnotation found = Annotations(model, layout).of_variable(name);
  if (!found) return "none";
  const Dims& dims = name == "x"                            ? Dims{{"b", 8}, {"i", 6}}
                     : name.find("w1") != std::string::npos ? Dims{{"i", 6}, {"h", 4}}
                                                            : Dims{{"h", 4}, {"o", 10}};
  return to_string(dims, found->sharding, kMesh);
}

}  // namespace

TEST_CASE("a rule that is limited to a pattern comes before other rules there, and after annotations") {
  const LimitedRule h{{"h", {1}, {}}, "a/*"}, same_axis{{"h", {0}, {}}, "a/*"},
      one{{"h", {0, 1}, {}}, "a/w2"};
  CHECK(split_by({}, "a/w1") == "none");
  CHECK(split_by({h}, "a/w1") == "i/x, h/y");
  CHECK(split_by({h}, "a/w2") == "h/y, o");
  CHECK(split_by({h}, "x") == "none");
  CHECK(split_by({same_axis}, "a/w1") == "i, h/x");
  CHECK(split_by({h, same_axis}, "a/w2") == "h/x, o");
  CHECK(split_by({one, h}, "a/w2") == "h/x+y, o");
  CHECK(split_by({h}, "a/w1", {annotation("a/w1", {{"h", {0}}})}) == "i, h/x");
  CHECK(split_by({h}, "a/w1/momentum", {annotation("a/w1", {{"h", {0}}})}) == "i, h/x");
}

TEST_CASE("a limited rule splits gradients and optimizer state as well") {
  CHECK(split_by({{{"h", {1}, {}}, "a/w1"}}, "a/w1/grad") == "i/x, h/y");
  CHECK(split_by({{{"h", {1}, {}}, "a/w1"}}, "a/w1/momentum") == "i/x, h/y");
  CHECK(split_by({{{"h", {1}, {}}, "**/momentum"}}, "a/w1/momentum") == "i/x, h/y");
  CHECK(split_by({{{"h", {1}, {}}, "**/momentum"}}, "a/w1") == "none");
}

TEST_CASE("rules for a gradient or state come before those of its variable, one dimension at a time") {
  const LimitedRule of_variable{{"h", {1}, {}}, "a/w1"}, of_all{{"i", {0}, {}}, "**"};
  for (const bool propagate : {false, true})
    for (const char* name : {"a/w1", "a/w1/grad", "a/w1/momentum"}) {
      CAPTURE(propagate);
      CAPTURE(name);
      const Model model = trained();
      const auto split = [&](const std::vector<LimitedRule>& rules) {
        const SharedAnnotation found =
            Annotations(model, Layout{kMesh, {}, {}, propagate, rules}).of_variable(name);
        return found ? to_string(Dims{{"i", 6}, {"h", 4}}, found->sharding, kMesh) : "none";
      };
      CHECK(split({of_variable, of_all}) == "i/x, h/y");
      CHECK(split({of_variable, {{"h", {0}, {}}, name}}) == "i, h/x");
      CHECK_THROWS_AS(split({of_variable, {{"h", {0, 1}, {}}, name}, of_all}), UserError);
      // Other dimensions lose the axes that a rule of the tensor's own uses.
      if (std::string(name) != "a/w1") CHECK(split({of_variable, {{"i", {1}, {}}, name}}) == "i/y, h");
    }
}

TEST_CASE("limited rules that match nothing, or split a tensor twice over an axis, are reported") {
  const auto complaint_about = [](const std::vector<LimitedRule>& rules) {
    return complaint(trained(), {kMesh, {}, {}, false, rules});
  };
  CHECK(has(complaint_about({{{"h", {0}, {}}, "a/w3"}}), "the model has no tensor 'a/w3' (did you mean"));
  CHECK(has(complaint_about({{{"h", {0}, {}}, "b/*"}}), "the pattern 'b/*' matches no tensor"));
  CHECK(has(complaint_about({{{"b", {0}, {}}, "a/*"}}), "no tensor that 'a/*' matches has a dimension 'b'"));
  CHECK(has(complaint_about({{{"h", {0}, {}}, "a/*"}, {{"o", {1, 0}, {}}, "**"}}),
            "the rules h:x and o:y+x split tensor 'a/w2' twice over the same axis 'x'"));
}

TEST_CASE(
    "without propagation a limited rule splits all tensors that match, and with it inputs and variables") {
  const Model model = trained();
  for (const bool propagate : {false, true}) {
    CAPTURE(propagate);
    const Layout layout{kMesh, {}, {}, propagate, {{{"h", {1}, {}}, "a/w1"}, {{"b", {0}, {}}, "h"}}};
    const Program program = compile(model, layout, {});
    for (const Value& value : program.find("train")->values) {
      const std::string split = to_string(value.type.dims, value.sharding, kMesh);
      if (value.name == "a/w1") CHECK(split == "i, h/y");
      if (value.name == "h" && !propagate) CHECK(split == "b/x, h");
    }
  }
}

TEST_CASE("the axes that a limited rule offers are known by all names of a tensor, and are checked too") {
  Model model = trained();
  const Layout layout{kMesh, {}, {}, true, {{{"h", {1}, {}}, "other"}, {{"h", {0}, {}}, "*"}}};
  GraphBuilder b;
  const TensorId x = b.add_input("x", {DType::kF32, {{"h", 7}}});
  const TensorId y = b.op("relu", {x});
  b.name(y, "y");
  b.mark_from_model(y);
  b.alias(y, "other");
  model.graph = b.graph();
  model.train.reset();
  model.variables.clear();
  const Annotations annotations(model, layout);
  const EntryGraph entry = annotations.applied({"evaluate", model.graph, {}, {}});
  const SharedRules& offered = entry.graph.tensor(entry.graph.find("y")).offered;
  REQUIRE(offered);
  REQUIRE(offered->size() == 2);
  CHECK(offered->at(0).text == "h:y in other");
  CHECK(offered->at(1).text == "h:x in *");
  std::vector<Diagnostic> diagnostics;
  annotations.check_even(kMesh, diagnostics);
  REQUIRE(diagnostics.size() == 2);
  for (const Diagnostic& diagnostic : diagnostics)
    CHECK(has(diagnostic.message, "dimension 'h' of size 7 of 'y' does not divide evenly over"));
}

TEST_CASE("optimizer state is split over the axes that its variable's annotation, or rules, leave unused") {
  for (const bool propagate : {false, true})
    for (const bool is_rule : {false, true}) {
      CAPTURE(propagate);
      CAPTURE(is_rule);
      Model model = trained();
      model.train->shard_state_over = {"y"};
      Layout layout{kMesh, {}, {}, propagate};
      if (is_rule)
        layout.limited_rules = {{{"h", {0}, {}}, "a/w1"}};
      else
        layout.annotations = {annotation("a/w1", {{"h", {0}}})};
      const Program program = compile(model, layout, {});
      for (const ProgramVariable& variable : program.variables) {
        const std::string split = to_string(variable.decl.type.dims, variable.sharding, kMesh);
        if (variable.decl.name == "a/w1") CHECK(split == "i, h/x");
        if (variable.decl.name == "a/w1/momentum") CHECK(split == "i/y, h/x");
      }
      layout.annotations.push_back(annotation("a/w1/momentum", {{"h", {0}}}));
      for (const ProgramVariable& variable : compile(model, layout, {}).variables)
        if (variable.decl.name == "a/w1/momentum")
          CHECK(to_string(variable.decl.type.dims, variable.sharding, kMesh) == "i, h/x");
    }
}

TEST_CASE("--no-uneven holds for optimizer state as annotations and limited rules leave it to be split") {
  const Annotation of_h = annotation("a/w1", {{"h", {0}}});
  const auto compiles = [](const std::vector<Annotation>& annotations,
                           const std::vector<LimitedRule>& rules) {
    TestModel model;
    const TensorId x = model.input("x", {{"b", 8}, {"i", 7}});
    const TensorId w = model.variable("a/w1", {{"i", 7}, {"h", 4}}, true);
    const TensorId h = model.op("h", "einsum", {x, w}, {{"dims", Dims{{"b", 8}, {"h", 4}}}});
    const TensorId loss = model.op("loss", "reduce_mean", {model.op("square", {h})});
    model.output(loss);
    TrainSpec train{loss, "momentum", {{"lr", 0.1}, {"momentum", 0.9}}};
    train.shard_state_over = {"y"};
    model.train(train);
    const Model finished = model.finished();
    std::string complaint;
    for (const bool propagate : {false, true}) {
      CompileOptions options;
      options.allow_uneven = false;
      try {
        compile(finished, {kMesh, {}, annotations, propagate, rules}, options);
      } catch (const UserError& error) {
        complaint = error.what();
      }
    }
    return complaint;
  };
  const Annotation whole_gradient = annotation("a/w1/grad", {}),
                   whole_state = annotation("a/w1/momentum", {});
  // The 4 columns are split over x, and the 7 rows are left to be split over y.
  CHECK(has(compiles({of_h}, {}), "dimension 'i' of size 7 of 'a/w1/grad' does not divide evenly over y"));
  CHECK(has(compiles({}, {{{"h", {0}, {}}, "a/w1"}}), "dimension 'i' of size 7 of 'a/w1/grad'"));
  CHECK(has(compiles({of_h, whole_gradient}, {}), "dimension 'i' of size 7 of 'a/w1/momentum'"));
  CHECK(compiles({of_h, whole_gradient, whole_state}, {}) == "");
}

TEST_CASE("a variable has the sharding that training decides, and an annotated tensor its own") {
  const Model model = trained();
  const Layout layout{kMesh, {}, {annotation("x", {{"b", {0}}}), annotation("a/w1", {{"h", {1}}})}, true};
  const Program program = compile(model, layout, {});
  for (const ProgramVariable& variable : program.variables) {
    CAPTURE(variable.decl.name);
    const std::string split = to_string(variable.decl.type.dims, variable.sharding, kMesh);
    if (variable.decl.name == "a/w1") CHECK(split == "i, h/y");
    for (const EntryPoint& entry : program.entry_points)
      for (const Value& value : entry.values)
        if (value.name == variable.decl.name) CHECK(value.sharding == variable.sharding);
  }
}

}  // namespace mtfc::annotations_test
