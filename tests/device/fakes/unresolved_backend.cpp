// Refers to a function that no library defines.
extern "C" int lerobot_test_symbol_that_nobody_defines();
extern "C" int lerobot_test_unresolved_backend() {
  return lerobot_test_symbol_that_nobody_defines();
}
