// A vendor's driver with two GPUs. FAKE_INIT and so on are the names of its functions; FAKE_INIT_RESULT is what its
// initialisation answers.
#include <cstddef>
#include <cstring>

namespace {
constexpr int kCount = 2;
constexpr const char* kNames[kCount] = {"Fake T4", "Fake H100"};
constexpr std::size_t kBytes[kCount] = {16ULL << 30, 80ULL << 30};
constexpr int kMajors[kCount] = {7, 9};
constexpr int kMinors[kCount] = {5, 0};
constexpr int kFirstHandle = 40;  // handles are not ordinals
}  // namespace

extern "C" {
int FAKE_INIT(unsigned) {
  return FAKE_INIT_RESULT;
}
int FAKE_COUNT(int* count) {
  *count = kCount;
  return 0;
}
int FAKE_DEVICE(int* device, int ordinal) {
  *device = kFirstHandle + ordinal;
  return 0;
}
int FAKE_NAME(char* name, int length, int device) {
  std::strncpy(name, kNames[device - kFirstHandle], static_cast<std::size_t>(length));
  return 0;
}
int FAKE_MEMORY(std::size_t* bytes, int device) {
  *bytes = kBytes[device - kFirstHandle];
  return 0;
}
int FAKE_VERSION(int* version) {
  *version = FAKE_VERSION_NUMBER;
  return 0;
}
#ifdef FAKE_ATTRIBUTE
int FAKE_ATTRIBUTE(int* value, int attribute, int device) {
  if (attribute != 75 && attribute != 76) return 1;  // CUDA_ERROR_INVALID_VALUE
  *value = (attribute == 75 ? kMajors : kMinors)[device - kFirstHandle];
  return 0;
}
#endif
}
