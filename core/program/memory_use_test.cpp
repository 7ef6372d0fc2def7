#include "core/program/memory_use.h"

#include <doctest/doctest.h>

namespace mtfc::memory_use_test {

namespace {

EntryPoint four_steps() {
  EntryPoint entry;
  entry.steps.resize(4);
  entry.steps[1].name = "b";
  entry.steps[1].workspace = BufferId(3);
  entry.buffers = {{BufferKind::kActivation, 8, 0, 0, 2},
                   {BufferKind::kInput, 4, 0, 1, 3},
                   {BufferKind::kVariable, 1000, 0, 0, 3},
                   {BufferKind::kWorkspace, 2, 0, 1, 1},
                   {BufferKind::kActivation, 6, 0, 2, 3}};
  for (const char* name : {"a", "x", "w"}) {
    Value value;
    value.name = name;
    value.buffer = BufferId(entry.values.size());
    entry.values.push_back(value);
  }
  return entry;
}

}  // namespace

TEST_CASE("memory follows the lifetimes of buffers") {
  const MemoryUse use = memory_use(four_steps());
  CHECK(use.activations == std::vector<int64_t>{8, 8, 14, 6});
  CHECK(use.inputs == std::vector<int64_t>{0, 4, 4, 4});
  CHECK(use.workspace == std::vector<int64_t>{0, 2, 0, 0});
  CHECK(use.peak == 2);
  CHECK(use.at(2) == 18);
  CHECK(memory_use(EntryPoint{}).at(0) == 0);
}

TEST_CASE("what is alive at a step, the largest first") {
  Program program;
  ProgramVariable variable;
  variable.decl.name = "w";
  variable.bytes = 5;
  program.variables = {variable};
  const std::vector<AliveTensor> alive = alive_at(program, four_steps(), 1);
  REQUIRE(alive.size() == 4);
  CHECK(alive[0].name == "a");
  CHECK(alive[1].name == "w");
  CHECK(alive[1].kind == "variable");
  CHECK(alive[2].name == "x");
  CHECK(alive[3].name == "workspace of b");
  CHECK(alive[3].bytes == 2);
  CHECK(alive_at(program, four_steps(), 3).size() == 3);
}

TEST_CASE("a buffer is called by what it holds at the step") {
  EntryPoint entry = four_steps();
  Value later = entry.values[ValueId(0)];
  later.name = "c";
  entry.steps[2].outputs = {entry.values.add(later)};
  CHECK(alive_at({}, entry, 1)[0].name == "a");
  CHECK(alive_at({}, entry, 2)[0].name == "c");
}

}  // namespace mtfc::memory_use_test
