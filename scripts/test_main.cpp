#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // Makes the compiler verify the result of each pass, here and in the processes that tests start, unless CTest says
  // that these need not (CMakeLists.txt).
  setenv("MTFC_VERIFY_PASSES", "1", 0);
  // Lines of progress come after some seconds, so that what a command says would depend on the machine.
  setenv("MTFC_PROGRESS", "0", 1);
  // The prefix of a shell's command that might hang. Commands that do not hang end sooner, however busy the machine is.
  setenv("HANG_GUARD", "timeout -k 10 1500", 1);
  return doctest::Context(argc, argv).run();
}
