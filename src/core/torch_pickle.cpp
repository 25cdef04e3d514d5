#include "lerobot/core/torch_pickle.hpp"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <array>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lerobot/core/error.hpp"
#include "torch_pickle_dtypes.hpp"
#include "torch_pickle_unpickler.hpp"

namespace lerobot {
namespace {

// What is wrong, in words; the public functions add the file.
[[noreturn]] void refuse(const std::string& reason) {
  throw UsageError(reason);
}

at::ScalarType dtype_of(std::string_view storage_class) {
  std::string known;
  for (const StorageClass& candidate : kStorageClasses) {
    if (storage_class == fmt::format("torch.{}", candidate.name)) return candidate.dtype;
    known += fmt::format("{}torch.{}", known.empty() ? "" : ", ", candidate.name);
  }
  refuse(fmt::format("its data.pkl has tensors of {}; {} are read", storage_class, known));
}

bool starts_like_a_zip(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  file.read(magic.data(), magic.size());
  return file && std::string_view(magic.data(), magic.size()) == std::string_view("PK\x03\x04", 4);
}

class Archive {
 public:
  explicit Archive(const std::filesystem::path& path)
      : size_(std::filesystem::file_size(path)), reader_(path.string()) {
    if (!reader_.hasRecord("data.pkl")) refuse("it has no data.pkl");
    if (reader_.hasRecord("byteorder") && text("byteorder") == "big") {
      refuse("its numbers are big-endian; little-endian is read");
    }
  }

  std::string text(const std::string& record) {
    std::string bytes(record_size(record), '\0');
    if (!bytes.empty()) reader_.getRecord(record, bytes.data(), bytes.size());
    return bytes;
  }

  torch::Tensor storage(std::string_view storage_class, std::string_view key, int64_t count) {
    const auto found = loaded_.find(key);
    if (found != loaded_.end()) return found->second;
    const std::string record = fmt::format("data/{}", key);
    if (!reader_.hasRecord(record)) refuse(fmt::format("the record {} is missing", record));
    const at::ScalarType dtype = dtype_of(storage_class);
    const auto size = static_cast<int64_t>(record_size(record));
    const auto item_size = static_cast<int64_t>(c10::elementSize(dtype));
    if (count < 0 || size / item_size != count || size % item_size != 0) {
      refuse(fmt::format("the record {} holds {} bytes, not {} elements of {}", record, size, count, storage_class));
    }
    torch::Tensor elements = torch::empty({count}, dtype);
    if (size > 0) reader_.getRecord(record, elements.mutable_data_ptr(), static_cast<size_t>(size));
    return loaded_.emplace(key, std::move(elements)).first->second;
  }

 private:
  // torch.save does not compress, so no record can be larger than the file.
  size_t record_size(const std::string& record) {
    const size_t size = reader_.getRecordSize(record);
    if (size > size_) refuse(fmt::format("the record {} claims {} bytes, more than the file has", record, size));
    return size;
  }

  std::uintmax_t size_;
  caffe2::serialize::PyTorchStreamReader reader_;
  std::map<std::string, torch::Tensor, std::less<>> loaded_;
};

PickleValue read_archive(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) refuse("there is no such file");
  if (!starts_like_a_zip(path)) refuse("it is not a ZIP archive, which torch.save has written since PyTorch 1.6");
  try {
    Archive archive(path);
    const std::string program = archive.text("data.pkl");
    return unpickle(program, [&archive](std::string_view storage_class, std::string_view key, int64_t count) {
      return archive.storage(storage_class, key, count);
    });
  } catch (const c10::Error& error) {  // the archive reader's
    refuse(fmt::format("the archive is damaged ({})", error.what_without_backtrace()));
  }
}

TensorMap tensors_of(PickleValue top) {
  auto* dict = std::get_if<PickleValue::Dict>(&top.data);
  if (dict == nullptr) refuse("its data.pkl has something else where a dict of tensors is expected");
  TensorMap tensors;
  for (auto& [name, value] : *dict) {
    auto* tensor = std::get_if<torch::Tensor>(&value.data);
    if (tensor == nullptr) {
      refuse(fmt::format("its data.pkl has something else where the tensor `{}` is expected", name));
    }
    tensors[name] = std::move(*tensor);
  }
  return tensors;
}

}  // namespace

PickleValue load_torch_pickle(const std::filesystem::path& path) {
  try {
    return read_archive(path);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("cannot read {}: {}", path.string(), error.what()));
  }
}

TensorMap load_torch_checkpoint(const std::filesystem::path& path) {
  try {
    return tensors_of(read_archive(path));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("cannot read the weights in {}: {}", path.string(), error.what()));
  }
}

}  // namespace lerobot
