#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // Here, and in the processes that tests start, what each pass of the compiler makes is verified.
  setenv("MTFC_VERIFY_PASSES", "1", 1);
  return doctest::Context(argc, argv).run();
}
