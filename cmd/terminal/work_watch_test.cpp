#include "cmd/terminal/work_watch.h"

#include <doctest/doctest.h>

#include <sstream>

namespace mtfc::work_watch_test {
namespace {

using Place = StatusLine::Place;
using std::chrono::milliseconds;

constexpr milliseconds kNow{0}, kNever{std::chrono::hours(1)};

// A stream that tells when something has been written to it.
class SeenStream : private std::stringbuf, public std::ostream {
 public:
  SeenStream() : std::ostream(static_cast<std::stringbuf*>(this)) {}
  std::string wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] { return all_.find(text) != std::string::npos; });
    return all_;
  }
  std::string all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::lock_guard lock(mutex_);
    all_.append(text, static_cast<size_t>(size));
    written_.notify_all();
    return size;
  }
  int overflow(int character) override {
    const char text = static_cast<char>(character);
    return static_cast<int>(xsputn(&text, 1));
  }

  std::mutex mutex_;
  std::condition_variable written_;
  std::string all_;
};

}  // namespace

TEST_CASE("a line says what long work is doing, how far it is and since when") {
  CHECK(work_text({"choosing the plan of train", 1200, 5400, "operations"}, 12) ==
        "choosing the plan of train: 1,200 of 5,400 operations, 12 s");
  CHECK(work_text({"reading"}, 2) == "reading, 2 s");
}

TEST_CASE("work that lasts is shown on a terminal, makes way for other output, and leaves nothing") {
  SeenStream out;
  {
    const WorkWatch watch(out, Place::kTerminal, {kNow, kNever, milliseconds(1)});
    out.wait_for("\r\033[Kreading, ");
    WorkWatch::make_way();
    const std::string before = out.all();
    CHECK(before.ends_with("\r\033[K"));
    tell_progress({"compiling"});
    out.wait_for("\r\033[Kcompiling, ");
  }
  CHECK(out.all().ends_with("\r\033[K"));
}

TEST_CASE("elsewhere, work that lasts is shown in lines of their own") {
  SeenStream out;
  {
    const WorkWatch watch(out, Place::kFile, {kNow, kNow, milliseconds(1)});
    tell_progress({"compiling"});
    out.wait_for("compiling, ");
    out.wait_for(" s\n");
  }
  CHECK(out.all().find('\r') == std::string::npos);
}

TEST_CASE("short work is not shown, and nothing is shown to those who want quiet") {
  SeenStream out;
  {
    const WorkWatch terminal(out, Place::kTerminal, {kNever, kNever, milliseconds(1)});
    tell_progress({"compiling"});
  }
  {
    const WorkWatch file(out, Place::kFile, {kNever, kNever, milliseconds(1)});
    tell_progress({"compiling"});
  }
  {
    const WorkWatch nowhere(out, Place::kNowhere, {kNow, kNow, milliseconds(1)});
    tell_progress({"compiling"});
  }
  CHECK(out.all().empty());
}

}  // namespace mtfc::work_watch_test
