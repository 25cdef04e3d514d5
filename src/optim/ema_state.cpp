// training_state/ema_state.pt
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/torch_pickle.hpp"
#include "lerobot/optim/ema.hpp"

namespace lerobot::optim {
namespace {

// The dict of one file, taken apart key by key.
class StateDict {
 public:
  explicit StateDict(const std::filesystem::path& path) : path_(path) {
    PickleValue top = load_torch_pickle(path);
    auto* dict = std::get_if<PickleValue::Dict>(&top.data);
    if (dict == nullptr) throw UsageError(fmt::format("{}: holds no dict", path.string()));
    dict_ = std::move(*dict);
  }

  template <class T>
  T take(std::string_view key, std::string_view what) {
    PickleValue value = take_value(key);
    if (T* data = std::get_if<T>(&value.data)) return std::move(*data);
    refuse(key, fmt::format("is not {}", what));
  }

  // A Python int will do: EMAModel takes both.
  double take_number(std::string_view key) {
    const PickleValue value = take_value(key);
    if (const auto* integer = std::get_if<int64_t>(&value.data)) return static_cast<double>(*integer);
    if (const auto* number = std::get_if<double>(&value.data)) return *number;
    refuse(key, "is not a number");
  }

  std::vector<torch::Tensor> take_tensors(std::string_view key) {
    std::vector<torch::Tensor> tensors;
    for (PickleValue& item : take<PickleValue::List>(key, "a list")) {
      const auto* tensor = std::get_if<torch::Tensor>(&item.data);
      if (tensor == nullptr || !tensor->is_floating_point()) {
        refuse(key, fmt::format("has something else than a tensor of floats at {}", tensors.size()));
      }
      tensors.push_back(tensor->to(torch::kFloat32));
    }
    return tensors;
  }

  // A newer EMAModel may know more than we do.
  void warn_about_the_rest() const {
    for (const auto& [key, value] : dict_) {
      log::warning(fmt::format("{}: the unknown key `{}` is left out", path_.string(), key));
    }
  }

 private:
  PickleValue take_value(std::string_view key) {
    const auto found =
        std::find_if(dict_.begin(), dict_.end(), [key](const auto& entry) { return entry.first == key; });
    if (found == dict_.end()) refuse(key, "is missing");
    PickleValue value = std::move(found->second);
    dict_.erase(found);
    return value;
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view problem) const {
    throw UsageError(fmt::format("{}: `{}` {}", path_.string(), key, problem));
  }

  const std::filesystem::path& path_;
  PickleValue::Dict dict_;
};

}  // namespace

void write_ema_state(FileSystem& files, const std::filesystem::path& path, const EmaState& state) {
  PickleValue::List shadow_params;
  for (const torch::Tensor& shadow : state.shadow_params) shadow_params.push_back({shadow});
  save_torch_pickle(files, path,
                    {PickleValue::Dict{{"decay", {state.decay}},
                                       {"min_decay", {state.min_decay}},
                                       {"optimization_step", {state.optimization_step}},
                                       {"update_after_step", {state.update_after_step}},
                                       {"use_ema_warmup", {state.use_ema_warmup}},
                                       {"inv_gamma", {state.inv_gamma}},
                                       {"power", {state.power}},
                                       {"shadow_params", {std::move(shadow_params)}}}});
}

EmaState read_ema_state(const std::filesystem::path& path) {
  StateDict dict(path);
  EmaState state;
  state.decay = dict.take_number("decay");
  state.min_decay = dict.take_number("min_decay");
  state.optimization_step = dict.take<int64_t>("optimization_step", "an integer");
  state.update_after_step = dict.take<int64_t>("update_after_step", "an integer");
  state.use_ema_warmup = dict.take<bool>("use_ema_warmup", "True or False");
  state.inv_gamma = dict.take_number("inv_gamma");
  state.power = dict.take_number("power");
  state.shadow_params = dict.take_tensors("shadow_params");
  dict.warn_about_the_rest();
  return state;
}

}  // namespace lerobot::optim
