#include "runtime/processes/watchdog.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "core/graph/op_registry.h"
#include "runtime/processes/step_text.h"

namespace mtfc::watchdog_test {
namespace {

// The ranks that giving up on `ranks` reports.
std::vector<MissingRank> missing(const Watchdog& watchdog, std::span<const int64_t> ranks = {}) {
  try {
    watchdog.give_up(ranks);
  } catch (const WaitError& error) {
    return error.missing();
  }
  return {};
}

TEST_CASE("ranks that came as far and hang are missing, and so are those that can't be seen") {
  Watchdog watchdog, other;
  REQUIRE(other.own_page().process == getpid());
  ProgressPage foreign = other.own_page();
  ++foreign.token;
  other.pass({1, 2, 3});
  watchdog.set_ranks(0, {watchdog.own_page(), other.own_page(), foreign});
  watchdog.pass();
  std::vector<MissingRank> found = missing(watchdog);
  REQUIRE(found.size() == 2);
  CHECK(found[0].rank == 1);
  CHECK(found[0].known);
  CHECK(found[0].point.entry == 1);
  CHECK(found[0].point.step == 2);
  CHECK(found[0].point.train_step == 3);
  CHECK(found[1].rank == 2);
  CHECK_FALSE(found[1].known);
  const std::vector<int64_t> group = {0, 2};
  found = missing(watchdog, group);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 2);
  // One that is behind is enough.
  watchdog.pass();
  found = missing(watchdog);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 1);
}

TEST_CASE("ranks that wait too are not missing, wherever they are") {
  Watchdog watchdog, waiting, still;
  std::atomic<bool> done = false;
  std::thread beating([&] {
    while (!done) waiting.beat_for(std::chrono::milliseconds(1));
  });
  const ProgressPage own = watchdog.own_page();
  watchdog.set_ranks(0, {own, waiting.own_page(), still.own_page()});
  watchdog.pass();
  std::vector<MissingRank> found = missing(watchdog);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 2);
  // A rank that another one waits for, outside the group.
  const std::vector<int64_t> group = {0, 1};
  found = missing(watchdog, group);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 2);
  // Where all wait, the last one is named.
  watchdog.set_ranks(0, {own, waiting.own_page()});
  CHECK(missing(watchdog).at(0).rank == 1);
  done = true;
  beating.join();
}

// Answers for rank 2 only.
struct FirstAnswers : Inquiry {
  void answer() override {}
  std::map<int, RankProgress> ask(const std::vector<int>& ranks) override {
    CHECK(ranks == std::vector<int>{1, 2});
    return {{2, {}}};
  }
};

TEST_CASE("of ranks that can't be seen, those are missing that do not answer") {
  Watchdog watchdog;
  watchdog.set_ranks(0, {watchdog.own_page(), {}, {}});
  watchdog.set_inquiry(std::make_unique<FirstAnswers>());
  const std::vector<MissingRank> found = missing(watchdog);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 1);
  CHECK_FALSE(found[0].known);
}

TEST_CASE("a rank that has not come so far is missing, though it is stopped") {
  Watchdog watchdog;
  // The page is shared across fork() and the parent keeps counting, so the child works on a copy.
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const ProgressPage own = watchdog.own_page();
  const pid_t child = fork();
  if (child == 0) {
    char copy[4096];
    const ssize_t length = pread(own.file, copy, sizeof copy, 0);
    const int behind = memfd_create("behind", 0);
    const bool fine = write(behind, copy, static_cast<size_t>(length)) == length &&
                      write(pipe_ends[1], &behind, sizeof behind) == sizeof behind;
    raise(SIGSTOP);
    _exit(fine ? 0 : 1);
  }
  int file = -1;
  REQUIRE(read(pipe_ends[0], &file, sizeof file) == sizeof file);
  watchdog.set_ranks(1, {{child, file, own.token}, own, own});
  watchdog.pass();
  const std::vector<MissingRank> found = missing(watchdog);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 0);
  CHECK(found[0].known);
}

TEST_CASE("patience ends after the limit, and not before") {
  Watchdog watchdog(1);
  watchdog.set_ranks(0, {watchdog.own_page(), {}});
  const auto start = std::chrono::steady_clock::now();
  std::string said;
  try {
    for (Patience patience(watchdog);;) patience.poll();
  } catch (const RunError& error) {
    said = error.what();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(said == "waited 1 s for rank 1");
  CHECK(seconds > 1);
}

TEST_CASE("of ranks that end all, one has the last word, and rank 0 where it asks in time") {
  for (const bool first_asks : {true, false}) {
    CAPTURE(first_asks);
    Watchdog first, second, third;
    const std::vector<ProgressPage> pages = {first.own_page(), second.own_page(), third.own_page()};
    first.set_ranks(0, pages);
    second.set_ranks(1, pages);
    third.set_ranks(2, pages);
    bool by_second = false;
    std::thread other([&] { by_second = second.claim_last_word(); });
    if (first_asks) CHECK(first.claim_last_word());
    other.join();
    CHECK(by_second == !first_asks);
    CHECK_FALSE(first.claim_last_word());
    CHECK_FALSE(third.claim_last_word());
  }
  Watchdog alone;
  CHECK(alone.claim_last_word());
  alone.set_ranks(1, {{}, alone.own_page()});
  CHECK(alone.claim_last_word());
}

TEST_CASE("missing ranks are told with the steps they are at") {
  Program program;
  program.entry_points.resize(1);
  EntryPoint& entry = program.entry_points[0];
  entry.name = "train";
  Step kernel, wait;
  kernel.action = RunKernel{&op_named("add")};
  kernel.name = "h";
  kernel.source = "/ops/0";
  wait.action = AwaitCollective{};
  wait.name = "w/grad";
  entry.steps = {kernel, wait};
  CHECK(missing_text(program, WaitError(7, {{3, true, {0, 0, 11}}})) ==
        "waited 7 s for rank 3, which is at train, step 12: /ops/0 (add 'h') (--watchdog sets how long to "
        "wait)");
  CHECK(missing_text(program, WaitError(7, {{0, true, {0, 1, 0}}, {2, false, {}}, {4, true, {0, 9, 0}}})) ==
        "waited 7 s for rank 0, which is at train, step 1: all_reduce 'w/grad', and rank 2, which does not "
        "answer, and rank 4, which is between steps (--watchdog sets how long to wait)");
  CHECK(missing_text(program, WaitError(7, std::vector<MissingRank>(6))).find(", and 2 more (") !=
        std::string::npos);
  CHECK(rank_text({1}) == "rank 1");
  CHECK(rank_text({1, 2, 5}) == "ranks 1, 2, 5");
}

}  // namespace
}  // namespace mtfc::watchdog_test
