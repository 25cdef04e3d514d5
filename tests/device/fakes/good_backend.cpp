// Loads without needing anything, and leaves a mark that shows it was loaded into the global namespace.
extern "C" int lerobot_test_fake_backend_mark() {
  return 42;
}
