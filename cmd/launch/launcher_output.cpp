#include "cmd/launch/launcher_output.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "runtime/processes/job.h"

namespace mtfc {
namespace {

const std::string kRule(83, '=');
constexpr std::string_view kOwn = "[mpiexec@";
constexpr std::string_view kExitCodes = "Exit codes: ";
constexpr std::string_view kExitString = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ";
constexpr std::string_view kSignal = "(signal ";
constexpr std::string_view kProcess = "=   PID ", kRunningAt = " RUNNING AT ", kExitCode = "=   EXIT CODE: ";
constexpr int kLeastSignal = 4, kMostSignal = 64;  // exit codes below are those of ranks that have said why
constexpr std::string_view kAbort = "application called MPI_Abort(";

// Lines with these beginnings are the launcher's, or MPI's message about a rank that ended the job and has
// said why.
const std::string_view kStarts[] = {
    kRule,
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    kProcess,
    kExitCode,
    "=   CLEANING UP REMAINING PROCESSES",
    "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES",
    kExitString,
    "This typically refers to a problem with your application.",
    "Please see the FAQ page for debugging suggestions",
    kOwn,
    "[proxy:",
    "Abort(",
    kCodeLine,
};

// Returns the numbers in `[node] 0,0,9,0 [other] 0,0`.
std::vector<int> statuses_in(std::string_view codes) {
  std::vector<int> statuses;
  for (size_t i = 0; i < codes.size();) {
    if (codes[i] == '[') {
      const size_t end = codes.find(']', i);
      if (end == std::string_view::npos) break;
      i = end + 1;
    } else if (std::isdigit(static_cast<unsigned char>(codes[i]))) {
      int status = 0;
      for (; i < codes.size() && std::isdigit(static_cast<unsigned char>(codes[i])); ++i)
        status = status * 10 + (codes[i] - '0');
      statuses.push_back(status);
    } else {
      ++i;
    }
  }
  return statuses;
}

}  // namespace

std::string LauncherOutput::pass(std::string_view bytes) {
  std::string passed;
  for (const char c : bytes) {
    line_ += c;
    if (c == '\n') end_line(passed);
  }
  if (line_.empty() || may_be_launchers()) return passed;
  release_blanks(passed);
  // An unfinished line of a rank may be followed by one of the launcher's, whose first characters are held
  // back as well.
  size_t kept = std::min(line_.size(), kOwn.size() - 1);
  while (kept > 0 && !kOwn.starts_with(std::string_view(line_).substr(line_.size() - kept))) --kept;
  passed.append(line_, 0, line_.size() - kept);
  line_.erase(0, line_.size() - kept);
  line_begun_ = true;
  return passed;
}

void LauncherOutput::end_line(std::string& passed) {
  if (line_ == "\n" && !line_begun_) {
    ++blank_lines_;
  } else if (is_launchers()) {
    learn();
    if (blank_lines_ > 0 && line_.compare(0, kRule.size(), kRule) == 0) --blank_lines_;
  } else {
    in_codes_ = false;
    release_blanks(passed);
    const size_t own = line_.find(kOwn);
    passed.append(line_, 0, own);
    if (own != std::string::npos) learn();
  }
  line_.clear();
  line_begun_ = false;
}

bool LauncherOutput::is_launchers() const {
  if (in_codes_ && !line_begun_ && line_.starts_with("[") && !statuses_in(line_).empty()) return true;
  if (line_begun_) return line_.starts_with(kOwn);
  if (line_.starts_with("Abort(")) return line_.find(kAbort) != std::string::npos;
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](std::string_view start) { return line_.starts_with(start); });
}

bool LauncherOutput::may_be_launchers() const {
  const auto fits = [&](std::string_view start) {
    return line_.starts_with(start) || start.starts_with(line_);
  };
  if (in_codes_ && !line_begun_ && line_.starts_with("[")) return true;
  return line_begun_ ? fits(kOwn) : std::any_of(std::begin(kStarts), std::end(kStarts), fits);
}

void LauncherOutput::learn() {
  if (const size_t at = line_.find(kRunningAt); at != std::string::npos && line_.starts_with(kProcess)) {
    const size_t begin = at + kRunningAt.size();
    word_.host = line_.substr(begin, line_.find_last_not_of(" \n") + 1 - begin);
  }
  // With several hosts, the launcher may fail before it names the signal.
  if (line_.starts_with(kExitCode) && word_.signal == 0) {
    const int status = std::atoi(line_.c_str() + kExitCode.size());
    if (status >= kLeastSignal && status <= kMostSignal) word_.signal = status;
  }
  if (line_.starts_with(kCodeLine) && !word_.code)
    word_.code = std::atoi(line_.c_str() + std::string_view(kCodeLine).size());
  const size_t codes = line_.find(kExitCodes);
  if (codes != std::string::npos) {
    word_.statuses = statuses_in(std::string_view(line_).substr(codes + kExitCodes.size()));
  } else if (in_codes_ && line_.starts_with("[") && !line_.starts_with(kOwn)) {
    const std::vector<int> more = statuses_in(line_);
    word_.statuses.insert(word_.statuses.end(), more.begin(), more.end());
    return;
  }
  in_codes_ = codes != std::string::npos;
  const size_t signal = line_.starts_with(kExitString) ? line_.find(kSignal) : std::string::npos;
  if (signal != std::string::npos && word_.signal == 0)
    word_.signal = std::atoi(line_.c_str() + signal + kSignal.size());
}

void LauncherOutput::release_blanks(std::string& passed) {
  passed.append(static_cast<size_t>(blank_lines_), '\n');
  blank_lines_ = 0;
}

std::string LauncherOutput::flush() {
  std::string passed;
  release_blanks(passed);
  if (!line_.empty() && !(line_.starts_with(kOwn) || line_.starts_with(kRule))) {
    passed += line_;
    line_begun_ = true;
    line_.clear();
  }
  return passed;
}

}  // namespace mtfc
