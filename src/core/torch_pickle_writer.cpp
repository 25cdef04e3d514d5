#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/core/torch_pickle.hpp"
#include "torch_pickle_dtypes.hpp"

namespace lerobot {
namespace {

// Writes data.pkl, protocol 2 (CPython's Lib/pickletools.py describes every opcode). Nothing is memoised: a tree names
// no value twice.
class Pickler {
 public:
  explicit Pickler(const std::filesystem::path& path) : path_(path) {}

  std::string program(const PickleValue& value) {
    program_ = "\x80\x02";
    write(value);
    program_ += '.';
    return std::exchange(program_, {});
  }

  // tensors()[i] belongs into the record data/<i>.
  const std::vector<torch::Tensor>& tensors() const { return tensors_; }

 private:
  void write(const PickleValue& value) {
    std::visit([this](const auto& data) { write_data(data); }, value.data);
  }

  void write_data(std::monostate) { program_ += 'N'; }
  void write_data(bool flag) { program_ += flag ? '\x88' : '\x89'; }

  void write_data(int64_t integer) {
    if (integer >= 0 && integer <= std::numeric_limits<uint8_t>::max()) {
      program_ += 'K';
      write_little_endian(static_cast<uint8_t>(integer));
    } else if (integer >= std::numeric_limits<int32_t>::min() && integer <= std::numeric_limits<int32_t>::max()) {
      program_ += 'J';
      write_little_endian(static_cast<int32_t>(integer));
    } else {
      program_ += "\x8a\x08";  // LONG1 of 8 bytes
      write_little_endian(integer);
    }
  }

  void write_data(double number) {
    const auto bits = std::bit_cast<uint64_t>(number);
    program_ += 'G';
    for (int shift = 56; shift >= 0; shift -= 8) program_ += static_cast<char>(bits >> shift & 0xffU);
  }

  void write_data(const std::string& text) {
    if (text.size() > std::numeric_limits<uint32_t>::max()) fail("a text of more than 4 GiB");
    program_ += 'X';
    write_little_endian(static_cast<uint32_t>(text.size()));
    program_ += text;
  }

  void write_data(const PickleValue::List& list) {
    program_ += "](";
    for (const PickleValue& item : list) write(item);
    program_ += 'e';
  }

  void write_data(const PickleValue::Dict& dict) {
    program_ += "}(";
    for (const auto& [key, value] : dict) {
      write_data(key);
      write(value);
    }
    program_ += 'u';
  }

  // torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward hooks), the storage by its
  // persistent id ("storage", class, key, location, numel).
  void write_data(const torch::Tensor& tensor) {
    const std::string key = std::to_string(tensors_.size());
    tensors_.push_back(tensor);
    program_ += "ctorch._utils\n_rebuild_tensor_v2\n((";
    write_data(std::string("storage"));
    program_ += fmt::format("ctorch\n{}\n", storage_class(tensor));
    write_data(key);
    write_data(std::string("cpu"));
    write_data(tensor.numel());
    program_ += "tQ";
    write_data(int64_t{0});
    write_tuple(tensor.sizes().vec());
    write_tuple(contiguous_strides(tensor));
    write_data(false);
    program_ += "ccollections\nOrderedDict\n)RtR";
  }

  void write_tuple(const std::vector<int64_t>& integers) {
    program_ += '(';
    for (const int64_t integer : integers) write_data(integer);
    program_ += 't';
  }

  static std::vector<int64_t> contiguous_strides(const torch::Tensor& tensor) {
    std::vector<int64_t> strides(static_cast<size_t>(tensor.dim()));
    int64_t stride = 1;
    for (size_t i = strides.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= std::max<int64_t>(tensor.sizes()[i], 1);
    }
    return strides;
  }

  std::string_view storage_class(const torch::Tensor& tensor) const {
    for (const StorageClass& candidate : kStorageClasses) {
      if (candidate.dtype == tensor.scalar_type()) return candidate.name;
    }
    fail(fmt::format("a tensor of dtype {} has no place in it", c10::toString(tensor.scalar_type())));
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw RunError(fmt::format("cannot write {}: {}", path_.string(), reason));
  }

  template <class Integer>
  void write_little_endian(Integer value) {
    std::array<char, sizeof(Integer)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);  // the machines LibTorch runs on are little-endian
    program_.append(bytes.data(), bytes.size());
  }

  const std::filesystem::path& path_;
  std::string program_;
  std::vector<torch::Tensor> tensors_;
};

// Takes the archive's bytes, gathers the many small pieces, and passes them on to the file. A failure is kept and the
// archive writer told that all is well: it would go on writing in its destructor, where it may not throw.
class ArchiveBytes {
 public:
  explicit ArchiveBytes(WritableFile& file) : file_(file) {}

  size_t write(const void* bytes, size_t size) noexcept {
    if (failure_ != nullptr) return size;
    try {
      const std::string_view piece(static_cast<const char*>(bytes), size);
      if (gathered_.size() + size > kPiece) pass_on();
      if (size > kPiece) {
        file_.append(piece);
      } else {
        gathered_ += piece;
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    return size;
  }

  void rethrow_failure() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  void finish() {
    rethrow_failure();
    pass_on();
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 20;

  void pass_on() {
    if (!gathered_.empty()) file_.append(std::string_view(gathered_));
    gathered_.clear();
  }

  WritableFile& file_;
  std::string gathered_;
  std::exception_ptr failure_;
};

// One record a tensor: in main memory one tensor at a time.
void write_archive(WritableFile& file, const std::string& program, const std::vector<torch::Tensor>& tensors) {
  ArchiveBytes bytes(file);
  {
    caffe2::serialize::PyTorchStreamWriter writer(
        [&bytes](const void* data, size_t size) { return bytes.write(data, size); });
    const auto write_record = [&](const std::string& name, const void* data, size_t size) {
      writer.writeRecord(name, data, size);
      bytes.rethrow_failure();
    };
    write_record("data.pkl", program.data(), program.size());
    constexpr std::string_view kByteOrder = "little";
    write_record("byteorder", kByteOrder.data(), kByteOrder.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const torch::Tensor tensor = tensors[i].detach().to(torch::kCPU).contiguous();
      write_record(fmt::format("data/{}", i), tensor.const_data_ptr(), tensor.nbytes());
    }
    writer.writeEndOfFile();
  }
  bytes.finish();
}

}  // namespace

void save_torch_pickle(FileSystem& files, const std::filesystem::path& path, const PickleValue& value) {
  Pickler pickler(path);
  const std::string program = pickler.program(value);
  const std::unique_ptr<WritableFile> file = files.create(path);
  try {
    write_archive(*file, program, pickler.tensors());
  } catch (const c10::Error& error) {  // the archive writer's, or a device's
    throw RunError(fmt::format("cannot write {}: {}", path.string(), error.what_without_backtrace()));
  }
  file->sync();
  file->close();
}

}  // namespace lerobot
