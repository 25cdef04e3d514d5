#include "lerobot/policy/torch_pickle.hpp"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lerobot/core/error.hpp"

namespace lerobot::policy {
namespace {

// What is wrong, in words; load_torch_checkpoint adds the file.
[[noreturn]] void refuse(const std::string& reason) {
  throw UsageError(reason);
}

struct Value;
using Items = std::vector<Value>;

struct None {};
struct Mark {};
struct Global {
  std::string_view name;  // "module.attribute"
};
// Containers belong to the Unpickler: whatever a file nests, nothing is destroyed recursively and no cycle leaks.
struct Tuple {
  const Items* items;
};
struct Dict {  // and OrderedDict
  std::vector<std::pair<Value, Value>>* entries;
};
struct Storage {
  torch::Tensor elements;  // one-dimensional
};

struct Value {
  // Texts are slices of the program.
  std::variant<None, Mark, bool, int64_t, std::string_view, Global, Tuple, Dict, Storage, torch::Tensor> data;

  template <class T>
  const T& as(std::string_view what) const {
    if (const T* value = std::get_if<T>(&data)) return *value;
    refuse(fmt::format("its data.pkl has something else where {} is expected", what));
  }
};

const Items& items_of(const Value& value, std::string_view what, size_t at_least) {
  const Items& items = *value.as<Tuple>(what).items;
  if (items.size() < at_least) refuse(fmt::format("its data.pkl has too few values in {}", what));
  return items;
}

std::vector<int64_t> integers_of(const Value& value, std::string_view what) {
  std::vector<int64_t> integers;
  for (const Value& item : items_of(value, what, 0)) integers.push_back(item.as<int64_t>(what));
  return integers;
}

// The records of the archive that hold tensor bytes.
class Storages {
 public:
  explicit Storages(caffe2::serialize::PyTorchStreamReader& reader) : reader_(reader) {}

  // The persistent id ("storage", class, key, location, numel).
  Storage load(const Value& persistent_id) {
    const Items& id = items_of(persistent_id, "a storage's id", 5);
    if (id[0].as<std::string_view>("\"storage\"") != "storage")
      refuse("its data.pkl refers to something not a storage");
    const std::string_view type = id[1].as<Global>("a storage class").name;
    const std::string key(id[2].as<std::string_view>("a storage's key"));
    const int64_t count = id[4].as<int64_t>("a storage's length");
    const auto found = loaded_.find(key);
    if (found != loaded_.end()) return found->second;

    const std::string record = "data/" + key;
    if (!reader_.hasRecord(record)) refuse(fmt::format("the record {} is missing", record));
    const at::ScalarType dtype = dtype_of(type);
    const auto size = static_cast<int64_t>(reader_.getRecordSize(record));
    const auto item_size = static_cast<int64_t>(c10::elementSize(dtype));
    if (count < 0 || size / item_size != count || size % item_size != 0) {
      refuse(fmt::format("the record {} holds {} bytes, not {} elements of {}", record, size, count, type));
    }
    Storage storage{torch::empty({count}, dtype)};
    if (size > 0) reader_.getRecord(record, storage.elements.mutable_data_ptr(), static_cast<size_t>(size));
    return loaded_.emplace(key, storage).first->second;
  }

 private:
  static at::ScalarType dtype_of(std::string_view storage_class) {
    if (storage_class == "torch.FloatStorage") return at::kFloat;
    if (storage_class == "torch.LongStorage") return at::kLong;
    refuse(fmt::format("its data.pkl has tensors of {}; torch.FloatStorage and torch.LongStorage are read",
                       storage_class));
  }

  caffe2::serialize::PyTorchStreamReader& reader_;
  std::map<std::string, Storage> loaded_;
};

// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
torch::Tensor rebuild_tensor(const Items& arguments) {
  const torch::Tensor& elements = arguments[0].as<Storage>("a tensor's storage").elements;
  const int64_t offset = arguments[1].as<int64_t>("a tensor's offset");
  const auto sizes = integers_of(arguments[2], "a tensor's size");
  const auto strides = integers_of(arguments[3], "a tensor's stride");
  bool fits = offset >= 0 && sizes.size() == strides.size();
  bool is_empty = false;
  int64_t last = offset;  // index of the last element
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && strides[i] >= 0;
    is_empty = is_empty || sizes[i] == 0;
    int64_t span = 0;
    fits = fits && !__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &span) &&
           !__builtin_add_overflow(last, span, &last);
  }
  if (!fits || (!is_empty && last >= elements.numel())) {
    refuse(fmt::format("its data.pkl has a tensor of size [{}] that does not fit its storage of {} elements",
                       fmt::join(sizes, ", "), elements.numel()));
  }
  if (is_empty) return torch::empty(sizes, elements.options());
  return elements.as_strided(sizes, strides, offset).clone(at::MemoryFormat::Contiguous);
}

// The pickle machine, protocol 2 (CPython's Lib/pickletools.py describes every opcode). Values that it returns refer
// into it and into the program.
class Unpickler {
 public:
  Unpickler(std::string_view program, Storages& storages) : program_(program), storages_(storages) {}

  Value run() {
    while (true) {
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == '.') return pop();
      execute(opcode);
    }
  }

 private:
  void execute(unsigned char opcode) {
    switch (opcode) {
      case 0x80:
        return check_protocol();  // PROTO
      case 'c':
        return push_global();  // GLOBAL
      case 'q':
        return memoise(number<uint8_t>());  // BINPUT
      case 'r':
        return memoise(number<uint32_t>());  // LONG_BINPUT
      case 'h':
        return recall(number<uint8_t>());  // BINGET
      case 'j':
        return recall(number<uint32_t>());  // LONG_BINGET
      case '(':
        return push({Mark{}});  // MARK
      case ')':
        return push(make_tuple({}));  // EMPTY_TUPLE
      case 't':
        return push(make_tuple(pop_to_mark()));  // TUPLE
      case 0x85:
        return push(make_tuple(pop_n(1)));  // TUPLE1
      case 0x86:
        return push(make_tuple(pop_n(2)));  // TUPLE2
      case 0x87:
        return push(make_tuple(pop_n(3)));  // TUPLE3
      case '}':
        return push(make_dict());  // EMPTY_DICT
      case 'N':
        return push({None{}});  // NONE
      case 0x88:
        return push({true});  // NEWTRUE
      case 0x89:
        return push({false});  // NEWFALSE
      case 'J':
        return push({int64_t{number<int32_t>()}});  // BININT
      case 'K':
        return push({int64_t{number<uint8_t>()}});  // BININT1
      case 'M':
        return push({int64_t{number<uint16_t>()}});  // BININT2
      case 'X':
        return push({take(number<uint32_t>())});  // BINUNICODE
      case 'Q':
        return push({storages_.load(pop())});  // BINPERSID
      case 'R':
        return reduce();  // REDUCE
      case 'b':
        return build();  // BUILD
      case 's':
        return set_items(pop_n(2));  // SETITEM
      case 'u':
        return set_items(pop_to_mark());  // SETITEMS
      default:
        refuse(fmt::format("its data.pkl uses the pickle opcode 0x{:02x}, which a state dict does not need", opcode));
    }
  }

  std::string_view take(size_t count) {
    if (count > program_.size() - position_) refuse("its data.pkl ends in the middle");
    const std::string_view bytes = program_.substr(position_, count);
    position_ += count;
    return bytes;
  }

  template <class Integer>
  Integer number() {
    Integer value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);  // little-endian, as the machines LibTorch runs on
    return value;
  }

  std::string_view line() {
    const size_t end = program_.find('\n', position_);
    if (end == std::string_view::npos) refuse("its data.pkl ends in the middle");
    const std::string_view text = program_.substr(position_, end - position_);
    position_ = end + 1;
    return text;
  }

  Value make_tuple(Items items) { return {Tuple{&tuples_.emplace_back(std::move(items))}}; }
  Value make_dict() { return {Dict{&dicts_.emplace_back()}}; }

  void push(Value value) { stack_.push_back(std::move(value)); }

  Value pop() {
    if (stack_.empty()) refuse("its data.pkl takes a value from an empty stack");
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  Items pop_n(size_t count) {
    if (stack_.size() < count) refuse("its data.pkl takes a value from an empty stack");
    Items items(std::make_move_iterator(stack_.end() - static_cast<std::ptrdiff_t>(count)),
                std::make_move_iterator(stack_.end()));
    stack_.resize(stack_.size() - count);
    return items;
  }

  Items pop_to_mark() {
    size_t mark = stack_.size();
    while (mark > 0 && !std::holds_alternative<Mark>(stack_[mark - 1].data)) --mark;
    if (mark == 0) refuse("its data.pkl takes values up to a mark that is not there");
    Items items = pop_n(stack_.size() - mark);
    stack_.pop_back();
    return items;
  }

  void memoise(uint32_t key) {
    if (stack_.empty()) refuse("its data.pkl takes a value from an empty stack");
    memo_[key] = stack_.back();
  }

  void recall(uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) refuse(fmt::format("its data.pkl recalls value {}, which it never stored", key));
    push(found->second);
  }

  void check_protocol() {
    const auto protocol = number<uint8_t>();
    if (protocol != 2) refuse(fmt::format("its data.pkl is written in pickle protocol {}; 2 is read", protocol));
  }

  void push_global() {
    const std::string_view module = line();
    const std::string name = fmt::format("{}.{}", module, line());
    static constexpr std::array<std::string_view, 5> kKnown{
        "collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter",
        "torch.FloatStorage", "torch.LongStorage"};
    const auto known = std::find(kKnown.begin(), kKnown.end(), name);
    if (known == kKnown.end()) {
      refuse(fmt::format("its data.pkl asks for the Python object `{}`; a state dict of tensors needs none but {}",
                         name, fmt::join(kKnown, ", ")));
    }
    push({Global{*known}});
  }

  void reduce() {
    const Value arguments = pop();
    const Value callee = pop();
    const std::string_view function = callee.as<Global>("a function").name;
    if (function == "collections.OrderedDict") {
      if (!items_of(arguments, "OrderedDict's arguments", 0).empty()) refuse("its data.pkl fills an OrderedDict oddly");
      push(make_dict());
    } else if (function == "torch._utils._rebuild_tensor_v2") {
      push({rebuild_tensor(items_of(arguments, "_rebuild_tensor_v2's arguments", 4))});
    } else if (function == "torch._utils._rebuild_parameter") {
      push({items_of(arguments, "_rebuild_parameter's arguments", 1)[0].as<torch::Tensor>("a parameter's tensor")});
    } else {
      refuse(fmt::format("its data.pkl calls `{}`", function));
    }
  }

  // Attributes of an object (`_metadata` of a module's state dict): nothing we need.
  void build() {
    pop();
    if (stack_.empty()) refuse("its data.pkl takes a value from an empty stack");
    stack_.back().as<Dict>("a dict");
  }

  void set_items(Items keys_and_values) {
    if (keys_and_values.size() % 2 != 0) refuse("its data.pkl has a key without a value");
    if (stack_.empty()) refuse("its data.pkl takes a value from an empty stack");
    auto& entries = *stack_.back().as<Dict>("a dict").entries;
    for (size_t i = 0; i < keys_and_values.size(); i += 2) {
      entries.emplace_back(std::move(keys_and_values[i]), std::move(keys_and_values[i + 1]));
    }
  }

  std::string_view program_;
  size_t position_ = 0;
  Storages& storages_;
  std::deque<Items> tuples_;
  std::deque<std::vector<std::pair<Value, Value>>> dicts_;
  Items stack_;
  std::map<uint32_t, Value> memo_;
};

bool starts_like_a_zip(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  file.read(magic.data(), magic.size());
  return file && std::string_view(magic.data(), magic.size()) == std::string_view("PK\x03\x04", 4);
}

TensorMap read_checkpoint(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) refuse("there is no such file");
  if (!starts_like_a_zip(path)) refuse("it is not a ZIP archive, which torch.save has written since PyTorch 1.6");
  caffe2::serialize::PyTorchStreamReader reader(path.string());
  if (!reader.hasRecord("data.pkl")) refuse("it has no data.pkl");
  const auto [program, size] = reader.getRecord("data.pkl");
  Storages storages(reader);
  Unpickler unpickler({static_cast<const char*>(program.get()), size}, storages);

  const Value top = unpickler.run();
  TensorMap tensors;
  for (const auto& [key, value] : *top.as<Dict>("a dict of tensors").entries) {
    const std::string name(key.as<std::string_view>("a tensor's name"));
    tensors[name] = value.as<torch::Tensor>(fmt::format("the tensor `{}`", name));
  }
  return tensors;
}

}  // namespace

TensorMap load_torch_checkpoint(const std::filesystem::path& path) {
  try {
    return read_checkpoint(path);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("cannot read the weights in {}: {}", path.string(), error.what()));
  } catch (const c10::Error& error) {  // the archive reader's
    throw UsageError(fmt::format("cannot read the weights in {}: the archive is damaged ({})", path.string(),
                                 error.what_without_backtrace()));
  }
}

}  // namespace lerobot::policy
