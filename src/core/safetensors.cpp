#include "lerobot/core/safetensors.hpp"

#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/file_descriptor.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian and copied as they are");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadataKey = "__metadata__";

struct Dtype {
  std::string_view name;
  torch::ScalarType type;
};

// From wide to narrow, in the order in which Python's library writes them.
constexpr std::array<Dtype, 10> kDtypes{{{"I64", torch::kInt64},
                                         {"F64", torch::kFloat64},
                                         {"F32", torch::kFloat32},
                                         {"I32", torch::kInt32},
                                         {"BF16", torch::kBFloat16},
                                         {"F16", torch::kFloat16},
                                         {"I16", torch::kInt16},
                                         {"I8", torch::kInt8},
                                         {"U8", torch::kUInt8},
                                         {"BOOL", torch::kBool}}};

// A file open for reading. It is read, not mapped: a file that shrinks while it is open gives an error, where a mapping
// would give the whole process a SIGBUS.
class OpenFile {
 public:
  explicit OpenFile(const fs::path& path) : path_(path.string()) {
    descriptor_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor_.get() < 0) refuse(errno);
    struct stat status {};
    if (::fstat(descriptor_.get(), &status) != 0) refuse(errno);
    if (S_ISDIR(status.st_mode)) refuse(EISDIR);
    size_ = static_cast<uint64_t>(status.st_size);
  }

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  // Fills `bytes` from `position` on, all of which lies within size().
  void read(uint64_t position, std::span<char> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::pread(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(errno);
      if (count == 0) throw UsageError(fmt::format("{}: became shorter while it was read", path_));
      position += static_cast<uint64_t>(count);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

 private:
  [[noreturn]] void refuse(int error) const {
    throw UsageError(fmt::format("cannot read {}: {}", path_, std::generic_category().message(error)));
  }

  std::string path_;
  FileDescriptor descriptor_;
  uint64_t size_ = 0;
};

struct Entry {
  torch::ScalarType dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the tensors' part of the file
  uint64_t end = 0;
};

// Reads and checks a header; all problems are UsageErrors that name the file.
class HeaderReader {
 public:
  explicit HeaderReader(const fs::path& path) : file_(path.string()) {}

  // The header's text; its length is checked against the file's before any memory is taken for it.
  std::string text(const OpenFile& file) const {
    if (file.size() < kLengthBytes) {
      fail(fmt::format("{} bytes are too few for a safetensors file; it is cut off or something else", file.size()));
    }
    std::array<char, kLengthBytes> length_bytes{};
    file.read(0, length_bytes);
    uint64_t length = 0;
    std::memcpy(&length, length_bytes.data(), kLengthBytes);
    if (length > kLongestHeader) {
      fail(fmt::format("not a safetensors file: a header of {} bytes is announced, at most {} are allowed", length,
                       kLongestHeader));
    }
    if (length > file.size() - kLengthBytes) {
      fail(fmt::format("cut off inside the header: {} bytes are announced, {} are there", length,
                       file.size() - kLengthBytes));
    }
    std::string header(length, '\0');
    file.read(kLengthBytes, header);
    if (!header.starts_with('{')) fail("not a safetensors file: the header does not begin with `{`");
    return header;
  }

  std::map<std::string, std::string> metadata(const Json& value) const {
    std::map<std::string, std::string> result;
    if (!value.is_object()) fail("__metadata__ must be an object of strings");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(fmt::format("__metadata__: the value of \"{}\" must be a string", key));
      result[key] = text.get<std::string>();
    }
    return result;
  }

  Entry entry(const std::string& name, const Json& value) const {
    if (!value.is_object()) fail_at(name, "must be an object with dtype, shape and data_offsets");
    for (const auto& [key, unused] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") fail_at(name, fmt::format("unknown key {}", key));
    }
    Entry entry;
    entry.dtype = dtype(name, value);
    const std::vector<uint64_t> shape = integers(name, value, "shape");
    const std::vector<uint64_t> offsets = integers(name, value, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      fail_at(name,
              fmt::format("data_offsets must be [begin, end] with begin <= end, got [{}]", fmt::join(offsets, ", ")));
    }
    entry.shape.assign(shape.begin(), shape.end());
    entry.begin = offsets[0];
    entry.end = offsets[1];
    const std::optional<uint64_t> size = byte_size(shape, c10::elementSize(entry.dtype));
    if (!size) fail_at(name, fmt::format("the shape [{}] is too large", fmt::join(shape, ", ")));
    if (*size != entry.end - entry.begin) {
      fail_at(name, fmt::format("the shape [{}] needs {} bytes, data_offsets span {}", fmt::join(shape, ", "), *size,
                                entry.end - entry.begin));
    }
    return entry;
  }

  // Laid end to end, the spans must fill the rest of the file exactly.
  void check_layout(const std::map<std::string, Entry>& entries, uint64_t available) const {
    std::vector<std::pair<const Entry*, const std::string*>> by_place;
    for (const auto& [name, entry] : entries) by_place.emplace_back(&entry, &name);
    std::sort(by_place.begin(), by_place.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
    });
    uint64_t filled = 0;
    for (const auto& [entry, name] : by_place) {
      if (entry->begin < filled) fail_at(*name, "overlaps the tensor before it");
      if (entry->begin > filled) fail_at(*name, fmt::format("{} unused bytes stand before it", entry->begin - filled));
      if (entry->end > available) {
        fail_at(*name, fmt::format("ends at byte {}, but the file holds {}; it is cut off", entry->end, available));
      }
      filled = entry->end;
    }
    if (filled != available) fail(fmt::format("{} unexpected bytes stand after the last tensor", available - filled));
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const { throw UsageError(fmt::format("{}: {}", file_, problem)); }
  [[noreturn]] void fail_at(const std::string& name, std::string_view problem) const {
    fail(fmt::format("tensor \"{}\": {}", name, problem));
  }

  const Json& member(const std::string& name, const Json& value, const char* key) const {
    if (!value.contains(key)) fail_at(name, fmt::format("{} is missing", key));
    return value[key];
  }

  torch::ScalarType dtype(const std::string& name, const Json& value) const {
    const Json& text = member(name, value, "dtype");
    for (const Dtype& dtype : kDtypes) {
      if (text.is_string() && text.get_ref<const std::string&>() == dtype.name) return dtype.type;
    }
    fail_at(name, fmt::format("dtype {} is not one of BOOL U8 I8 I16 I32 I64 F16 BF16 F32 F64",
                              to_python_json(text, {.indent = -1})));
  }

  // A list of integers in [0, 2^63).
  std::vector<uint64_t> integers(const std::string& name, const Json& value, const char* key) const {
    const Json& list = member(name, value, key);
    std::vector<uint64_t> result;
    const auto is_size = [](const Json& e) { return e.is_number_integer() && !e.is_number_unsigned() && e >= 0; };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_size)) {
      fail_at(name, fmt::format("{} must be a list of integers from 0 up, got {}", key,
                                to_python_json(list, {.indent = -1})));
    }
    for (const Json& element : list) result.push_back(element.get<uint64_t>());
    return result;
  }

  // Nothing when it does not fit in 63 bits (an empty dimension does not excuse the others: torch multiplies them too).
  static std::optional<uint64_t> byte_size(const std::vector<uint64_t>& shape, uint64_t element_size) {
    int64_t size = static_cast<int64_t>(element_size);
    int64_t strides = 1;
    for (const uint64_t length : shape) {
      const auto dimension = static_cast<int64_t>(length);
      if (__builtin_mul_overflow(size, dimension, &size)) return std::nullopt;
      if (__builtin_mul_overflow(strides, std::max<int64_t>(dimension, 1), &strides)) return std::nullopt;
    }
    return static_cast<uint64_t>(size);
  }

  std::string file_;
};

}  // namespace

// ---------------------------------------------------------------- reading

struct SafetensorsFile::Impl {
  explicit Impl(const fs::path& path) : file(path) {}

  OpenFile file;
  uint64_t data_begin = 0;  // where the tensors' bytes begin in the file
  std::vector<std::string> names;
  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
};

SafetensorsFile::SafetensorsFile(const fs::path& path) : impl_(std::make_unique<Impl>(path)) {
  const HeaderReader reader(path);
  const std::string text = reader.text(impl_->file);
  const Json header = parse_json(text, path.string() + ": header", DuplicateKeys::kRefuse);
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey) {
      impl_->metadata = reader.metadata(value);
      continue;
    }
    impl_->entries.emplace(name, reader.entry(name, value));
    impl_->names.push_back(name);
  }
  impl_->data_begin = kLengthBytes + text.size();
  reader.check_layout(impl_->entries, impl_->file.size() - impl_->data_begin);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::vector<std::string>& SafetensorsFile::names() const {
  return impl_->names;
}

bool SafetensorsFile::contains(const std::string& name) const {
  return impl_->entries.contains(name);
}

torch::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const auto found = impl_->entries.find(name);
  if (found == impl_->entries.end()) {
    throw UsageError(
        fmt::format("{}: no tensor named \"{}\".{}", impl_->file.path(), name, did_you_mean(name, impl_->names)));
  }
  const Entry& entry = found->second;
  torch::Tensor tensor = at::empty(entry.shape, entry.dtype);
  if (tensor.numel() == 0) return tensor;
  const std::span bytes(static_cast<char*>(tensor.data_ptr()), tensor.nbytes());
  impl_->file.read(impl_->data_begin + entry.begin, bytes);
  if (entry.dtype == torch::kBool && std::any_of(bytes.begin(), bytes.end(), [](char c) { return c != 0 && c != 1; })) {
    throw UsageError(fmt::format("{}: tensor \"{}\": BOOL bytes must be 0 or 1", impl_->file.path(), name));
  }
  return tensor;
}

TensorMap SafetensorsFile::tensors() const {
  TensorMap result;
  for (const std::string& name : impl_->names) result.emplace(name, tensor(name));
  return result;
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return impl_->metadata;
}

TensorMap load_safetensors(const fs::path& path) {
  return SafetensorsFile(path).tensors();
}

// ---------------------------------------------------------------- writing

namespace {

struct Item {
  size_t dtype;  // position in kDtypes
  std::string_view name;
  const torch::Tensor* tensor;
};

std::vector<Item> in_file_order(const fs::path& path, const TensorMap& tensors) {
  std::vector<Item> items;
  for (const auto& [name, tensor] : tensors) {
    TORCH_CHECK(tensor.defined() && tensor.layout() == torch::kStrided, "not a dense tensor: ", name);
    TORCH_CHECK(name != kMetadataKey && is_valid_utf8(name), "not a name for a tensor: ", name);
    size_t dtype = 0;
    while (dtype < kDtypes.size() && kDtypes[dtype].type != tensor.scalar_type()) ++dtype;
    if (dtype == kDtypes.size()) {
      throw RunError(fmt::format("cannot write {}: safetensors has no place for \"{}\", a tensor of {}", path.string(),
                                 name, c10::toString(tensor.scalar_type())));
    }
    items.push_back({dtype, name, &tensor});
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.dtype < b.dtype; });
  return items;
}

// The length, the JSON and the padding: all that stands before the tensors' bytes.
std::string header_of(const std::vector<Item>& items, const std::map<std::string, std::string>& metadata) {
  Json::object_t entries;  // filled with emplace_back: the look-up of an insertion would make this quadratic
  if (!metadata.empty()) {
    Json texts = Json::object();
    for (const auto& [key, value] : metadata) texts[key] = value;
    entries.emplace_back(std::string(kMetadataKey), std::move(texts));
  }
  uint64_t offset = 0;
  for (const Item& item : items) {
    const uint64_t end = offset + item.tensor->nbytes();
    Json entry = {
        {"dtype", kDtypes[item.dtype].name}, {"shape", item.tensor->sizes().vec()}, {"data_offsets", {offset, end}}};
    entries.emplace_back(std::string(item.name), std::move(entry));
    offset = end;
  }
  std::string text = Json(std::move(entries)).dump();  // compact, non-ASCII as it is
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string header(kLengthBytes, '\0');
  std::memcpy(header.data(), &length, kLengthBytes);
  return header + text;
}

}  // namespace

void save_safetensors(FileSystem& files, const fs::path& path, const TensorMap& tensors,
                      const std::map<std::string, std::string>& metadata) {
  const std::vector<Item> items = in_file_order(path, tensors);
  const std::unique_ptr<WritableFile> file = files.create(path);
  file->append(header_of(items, metadata));
  for (const Item& item : items) {
    const torch::Tensor dense = item.tensor->detach().cpu().contiguous();
    if (dense.nbytes() > 0) file->append(std::span(static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()));
  }
  file->sync();
  file->close();
}

}  // namespace lerobot
