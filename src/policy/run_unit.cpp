#include "lerobot/policy/run_unit.hpp"

#include <utility>

namespace lerobot::policy {
namespace {

UnitHook& hook_of_this_thread() {
  thread_local UnitHook hook;
  return hook;
}

}  // namespace

UnitHookScope::UnitHookScope(UnitHook hook) : previous_(std::exchange(hook_of_this_thread(), std::move(hook))) {}

UnitHookScope::~UnitHookScope() {
  hook_of_this_thread() = std::move(previous_);
}

torch::Tensor run_unit(torch::nn::Module& unit, const std::function<torch::Tensor()>& forward) {
  const UnitHook& hook = hook_of_this_thread();
  return hook ? hook(unit, forward) : forward();
}

}  // namespace lerobot::policy
