#include "torch_pickle_unpickler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lerobot/core/error.hpp"

namespace lerobot {
namespace {

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
struct List {
  Items* items;
};
struct Dict {  // and OrderedDict
  std::vector<std::pair<Value, Value>>* entries;
};
struct Storage {
  torch::Tensor elements;  // one-dimensional
};

struct Value {
  // Texts are slices of the program.
  std::variant<None, Mark, bool, int64_t, double, std::string_view, Global, Tuple, List, Dict, Storage, torch::Tensor>
      data;

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

// Turns what the machine left into values that stand alone. A file can make a value contain itself, or multiply by
// naming it again and again: depth and total size are limited.
class TreeBuilder {
 public:
  explicit TreeBuilder(size_t program_size) : budget_(kLargestExpansion * program_size) {}

  PickleValue build(const Value& value, int depth = 0) {
    if (depth > kLargestDepth) refuse(fmt::format("its data.pkl nests values more than {} deep", kLargestDepth));
    spend(1);
    if (std::holds_alternative<None>(value.data)) return {};
    if (const auto* flag = std::get_if<bool>(&value.data)) return {*flag};
    if (const auto* integer = std::get_if<int64_t>(&value.data)) return {*integer};
    if (const auto* number = std::get_if<double>(&value.data)) return {*number};
    if (const auto* text = std::get_if<std::string_view>(&value.data)) return {build_text(*text)};
    if (const auto* tensor = std::get_if<torch::Tensor>(&value.data)) return {*tensor};
    if (const auto* tuple = std::get_if<Tuple>(&value.data)) return {build_list(*tuple->items, depth)};
    if (const auto* list = std::get_if<List>(&value.data)) return {build_list(*list->items, depth)};
    return {build_dict(value.as<Dict>("a value"), depth)};
  }

 private:
  static constexpr size_t kLargestExpansion = 100;  // times the program's length
  static constexpr int kLargestDepth = 32;

  void spend(size_t size) {
    if (size > budget_) refuse("its data.pkl repeats its values too often");
    budget_ -= size;
  }

  std::string build_text(std::string_view text) {
    spend(text.size());
    return std::string(text);
  }

  PickleValue::List build_list(const Items& items, int depth) {
    PickleValue::List list;
    for (const Value& item : items) list.push_back(build(item, depth + 1));
    return list;
  }

  PickleValue::Dict build_dict(const Dict& source, int depth) {
    PickleValue::Dict dict;
    std::set<std::string_view> keys;
    for (const auto& [key, value] : *source.entries) {
      const auto& name = key.as<std::string_view>("a dict's key, a text,");
      if (!keys.insert(name).second) refuse(fmt::format("its data.pkl has the key `{}` twice", name));
      dict.emplace_back(build_text(name), build(value, depth + 1));
    }
    return dict;
  }

  size_t budget_;
};

// The pickle machine, protocol 2 (CPython's Lib/pickletools.py describes every opcode). Values that it returns refer
// into it and into the program.
class Unpickler {
 public:
  Unpickler(std::string_view program, const StorageLoader& load_storage)
      : program_(program), load_storage_(load_storage) {}

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
      case ']':
        return push({List{&sequences_.emplace_back()}});  // EMPTY_LIST
      case 'a':
        return append(pop_n(1));  // APPEND
      case 'e':
        return append(pop_to_mark());  // APPENDS
      case '}':
        return push(make_dict());  // EMPTY_DICT
      case 's':
        return set_items(pop_n(2));  // SETITEM
      case 'u':
        return set_items(pop_to_mark());  // SETITEMS
      case 'Q':
        return push({load(pop())});  // BINPERSID
      case 'R':
        return reduce();  // REDUCE
      case 'b':
        return build();  // BUILD
      default:
        return push(scalar(opcode));
    }
  }

  Value scalar(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        return {None{}};  // NONE
      case 0x88:
        return {true};  // NEWTRUE
      case 0x89:
        return {false};  // NEWFALSE
      case 'J':
        return {int64_t{number<int32_t>()}};  // BININT
      case 'K':
        return {int64_t{number<uint8_t>()}};  // BININT1
      case 'M':
        return {int64_t{number<uint16_t>()}};  // BININT2
      case 0x8a:
        return {long_integer(take(number<uint8_t>()))};  // LONG1
      case 'G':
        return {big_endian_double(take(sizeof(double)))};  // BINFLOAT
      case 'X':
        return {take(number<uint32_t>())};  // BINUNICODE
      default:
        refuse(fmt::format("its data.pkl uses the pickle opcode 0x{:02x}, which tensors do not need", opcode));
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

  // Two's complement, the lowest byte first.
  static int64_t long_integer(std::string_view bytes) {
    if (bytes.size() > sizeof(int64_t)) refuse("its data.pkl has an integer of more than 64 bits");
    const bool is_negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    uint64_t bits = is_negative ? ~uint64_t{0} : 0;
    for (size_t i = bytes.size(); i-- > 0;) bits = bits << 8U | static_cast<unsigned char>(bytes[i]);
    return static_cast<int64_t>(bits);
  }

  static double big_endian_double(std::string_view bytes) {
    uint64_t bits = 0;
    for (const char byte : bytes) bits = bits << 8U | static_cast<unsigned char>(byte);
    return std::bit_cast<double>(bits);
  }

  std::string_view line() {
    const size_t end = program_.find('\n', position_);
    if (end == std::string_view::npos) refuse("its data.pkl ends in the middle");
    const std::string_view text = program_.substr(position_, end - position_);
    position_ = end + 1;
    return text;
  }

  Value make_tuple(Items items) { return {Tuple{&sequences_.emplace_back(std::move(items))}}; }
  Value make_dict() { return {Dict{&dicts_.emplace_back()}}; }

  void push(Value value) { stack_.push_back(std::move(value)); }

  Value pop() {
    Value value = std::move(top());
    stack_.pop_back();
    return value;
  }

  Value& top() {
    if (stack_.empty()) refuse("its data.pkl takes a value from an empty stack");
    return stack_.back();
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

  void memoise(uint32_t key) { memo_[key] = top(); }

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
    // Every storage class of the same module is let through to the loader, which knows the dtypes.
    static constexpr std::array<std::string_view, 3> kFunctions{
        "collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter"};
    const auto known = std::find(kFunctions.begin(), kFunctions.end(), name);
    if (known != kFunctions.end()) return push({Global{*known}});
    if (module == "torch" && name.ends_with("Storage")) return push({Global{*names_.insert(name).first}});
    refuse(fmt::format("its data.pkl asks for the Python object `{}`; tensors need none but {} and torch's storages",
                       name, fmt::join(kFunctions, ", ")));
  }

  // The persistent id ("storage", class, key, location, numel). The location is the device it was saved from.
  Storage load(const Value& persistent_id) {
    const Items& id = items_of(persistent_id, "a storage's id", 5);
    if (id[0].as<std::string_view>("\"storage\"") != "storage") {
      refuse("its data.pkl refers to something not a storage");
    }
    return {load_storage_(id[1].as<Global>("a storage class").name, id[2].as<std::string_view>("a storage's key"),
                          id[4].as<int64_t>("a storage's length"))};
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

  // torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
  torch::Tensor rebuild_tensor(const Items& arguments) {
    const torch::Tensor& elements = arguments[0].as<Storage>("a tensor's storage").elements;
    const int64_t offset = arguments[1].as<int64_t>("a tensor's offset");
    const auto sizes = integers_of(arguments[2], "a tensor's size");
    const auto strides = integers_of(arguments[3], "a tensor's stride");
    bool fits = offset >= 0 && sizes.size() == strides.size();
    int64_t last = offset;  // index of the last element
    int64_t count = 1;
    for (size_t i = 0; fits && i < sizes.size(); ++i) {
      int64_t span = 0;
      fits = sizes[i] >= 0 && strides[i] >= 0 && !__builtin_mul_overflow(count, sizes[i], &count) &&
             !__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &span) &&
             !__builtin_add_overflow(last, span, &last);
    }
    // More elements than the storage has would be a broadcast: a few bytes that ask for any amount of memory.
    if (!fits || count > elements.numel() || (count > 0 && last >= elements.numel())) {
      refuse(fmt::format("its data.pkl has a tensor of size [{}] that does not fit its storage of {} elements",
                         fmt::join(sizes, ", "), elements.numel()));
    }
    if (count == 0) return torch::empty(sizes, elements.options());
    const torch::Tensor view = elements.as_strided(sizes, strides, offset);
    // The first tensor that is all of a storage takes it over.
    const bool is_whole = count == elements.numel() && view.is_contiguous();
    if (is_whole && taken_.insert(elements.const_data_ptr()).second) return view;
    return view.clone(at::MemoryFormat::Contiguous);
  }

  // Attributes of an object (`_metadata` of a module's state dict): nothing we need.
  void build() {
    pop();
    top().as<Dict>("a dict");
  }

  void append(Items items) {
    Items& list = *top().as<List>("a list").items;
    list.insert(list.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  }

  void set_items(Items keys_and_values) {
    if (keys_and_values.size() % 2 != 0) refuse("its data.pkl has a key without a value");
    auto& entries = *top().as<Dict>("a dict").entries;
    for (size_t i = 0; i < keys_and_values.size(); i += 2) {
      entries.emplace_back(std::move(keys_and_values[i]), std::move(keys_and_values[i + 1]));
    }
  }

  std::string_view program_;
  size_t position_ = 0;
  const StorageLoader& load_storage_;
  std::deque<Items> sequences_;
  std::deque<std::vector<std::pair<Value, Value>>> dicts_;
  std::set<std::string> names_;  // of storage classes
  std::set<const void*> taken_;
  Items stack_;
  std::map<uint32_t, Value> memo_;
};

}  // namespace

PickleValue unpickle(std::string_view program, const StorageLoader& load_storage) {
  Unpickler unpickler(program, load_storage);
  const Value top = unpickler.run();
  return TreeBuilder(program.size()).build(top);
}

}  // namespace lerobot
