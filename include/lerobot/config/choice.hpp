// A section whose fields depend on its "type" (--policy.type, --optimizer.type …).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lerobot::config {

// The types to choose from, in the order they were added. A value that is passed down: nothing registers itself.
template <class Base>
class ChoiceRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Base>()>;

  ChoiceRegistry& add(std::string name, Factory factory) {
    entries_.emplace_back(std::move(name), std::move(factory));
    return *this;
  }

  // From a map of name to entry, as the policy registry is; `factory_of(entry)` gives the factory.
  template <class Map, class FactoryOf>
  static ChoiceRegistry from_map(const Map& map, FactoryOf factory_of) {
    ChoiceRegistry registry;
    for (const auto& [name, entry] : map) registry.add(name, factory_of(entry));
    return registry;
  }

  // Names that LeRobot knows and this build does not: refused with an explanation of their own.
  ChoiceRegistry& not_here(std::vector<std::string> names) {
    not_here_ = std::move(names);
    return *this;
  }
  // The type meant when fields are given without one (LeRobot: an optimizer is "adam").
  ChoiceRegistry& default_type(std::string name) {
    default_type_ = std::move(name);
    return *this;
  }

  // Defaults of the type, or null when it is not here.
  std::unique_ptr<Base> make(std::string_view name) const {
    for (const auto& [entry_name, factory] : entries_)
      if (entry_name == name) return factory();
    return nullptr;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : entries_) result.push_back(entry.first);
    return result;
  }
  const std::vector<std::string>& names_not_here() const { return not_here_; }
  const std::string& default_type() const { return default_type_; }

 private:
  std::vector<std::pair<std::string, Factory>> entries_;
  std::vector<std::string> not_here_;
  std::string default_type_;
};

// Null, or a section of one of the registry's types. Base has `std::string type() const`. Moves, does not copy.
template <class Base>
class Choice {
 public:
  Choice() = default;
  explicit Choice(ChoiceRegistry<Base> registry) : registry_(std::move(registry)) {}

  Base* get() const { return value_.get(); }
  Base* operator->() const { return value_.get(); }
  Base& operator*() const { return *value_; }
  explicit operator bool() const { return value_ != nullptr; }
  void set(std::unique_ptr<Base> value) { value_ = std::move(value); }
  void reset() { value_.reset(); }
  const ChoiceRegistry<Base>& registry() const { return registry_; }

 private:
  ChoiceRegistry<Base> registry_;
  std::unique_ptr<Base> value_;
};

}  // namespace lerobot::config
