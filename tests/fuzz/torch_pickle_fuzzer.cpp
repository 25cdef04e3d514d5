// core/torch_pickle.hpp: a ZIP archive of torch.save, its pickle and its records.
#include "fuzz_target.hpp"
#include "lerobot/core/torch_pickle.hpp"

using namespace lerobot;

// LibTorch's archive reader keeps its tables (a kilobyte) when its constructor throws at a damaged archive; looking for
// leaks after each such input would take nearly all of the time.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.write("weights.pth", data, size);
  fuzz::expect_a_result_or_an_error([&] {
    const PickleValue value = load_torch_pickle(path);
    save_torch_pickle(local_file_system(), folder.path() / "copy.pth", value);
    load_torch_pickle(folder.path() / "copy.pth");
  });
  fuzz::expect_a_result_or_an_error([&] { load_torch_checkpoint(path); });
  return 0;
}
