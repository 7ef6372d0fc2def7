#pragma once
// Errors, classed by who is to blame. Every error of mtfc is an Error, and one of three types reaches main().
//   UserError     the model, the layout or the command line is wrong           exit 2
//   RunError      data, files, numbers or ranks failed while running           exit 1
//   InternalError an invariant of mtfc is broken                               exit 3
// An Error of any other type is thrown to a caller who knows what to blame, and makes one of the three of it.
// If it escapes that caller, it ends the program as an InternalError does.

#include <stdexcept>
#include <string>
#include <vector>

namespace mtfc {

enum ExitCode { kExitSuccess = 0, kExitRunFailed = 1, kExitUserError = 2, kExitInternalError = 3 };

/// A place in an input file. `line` and `column` count from 1; 0 means unknown. `pointer` is a JSON pointer.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  std::string pointer;
};

enum class Severity { kError, kWarning, kNote };

struct Diagnostic {
  Location location;
  std::string message;
  std::string hint;  // what to do, shown in parentheses; may be empty
  Severity severity = Severity::kError;
};

/// A warning, and a note, of no place in a file.
Diagnostic plain_warning(std::string message, std::string hint = "");
Diagnostic plain_note(std::string message, std::string hint = "");

/// `FILE:LINE:COL: error: /ops/3/in/0: unknown tensor 'hiden' (did you mean 'hidden'?)`; unknown parts are
/// left out. The text is one line whatever the file holds: all of it is printable() (printable.h), and words
/// of more than 120 bytes and messages of more than 600 are shortened in the middle.
std::string to_string(const Diagnostic& diagnostic);

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class UserError : public Error {
 public:
  explicit UserError(std::vector<Diagnostic> diagnostics);
  explicit UserError(const std::string& message, const std::string& hint = "", Location location = {});
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// The text is one line here, too: control characters in the message are escaped.
class RunError : public Error {
 public:
  explicit RunError(const std::string& message);
};

class InternalError : public Error {
 public:
  using Error::Error;
};

/// The exit code of a program that `error` ends. Memory that does not suffice is a failure of the run.
ExitCode exit_code(const std::exception& error);

/// Throws InternalError(message) unless `condition` holds.
inline void check_invariant(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

}  // namespace mtfc
