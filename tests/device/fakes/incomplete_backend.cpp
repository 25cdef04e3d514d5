// Depends on a library that is not there when it is loaded.
extern "C" int lerobot_test_fake_backend_mark();
extern "C" int lerobot_test_incomplete_backend() {
  return lerobot_test_fake_backend_mark();
}
