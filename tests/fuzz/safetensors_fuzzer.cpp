// core/safetensors.hpp: a whole file, header and tensors; what was read must come back from a file that we write.
#include "fuzz_target.hpp"
#include "lerobot/core/safetensors.hpp"

using namespace lerobot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  fuzz::expect_a_result_or_an_error([&] {
    const SafetensorsFile file(folder.write("model.safetensors", data, size));
    const TensorMap tensors = file.tensors();
    const auto copy = folder.path() / "copy.safetensors";
    save_safetensors(local_file_system(), copy, tensors, file.metadata());
    const SafetensorsFile again(copy);
    if (again.metadata() != file.metadata() || again.names().size() != tensors.size()) __builtin_trap();
    for (const auto& [name, tensor] : again.tensors()) {
      if (tensor.sizes() != tensors.at(name).sizes() || tensor.scalar_type() != tensors.at(name).scalar_type()) {
        __builtin_trap();
      }
    }
  });
  return 0;
}
