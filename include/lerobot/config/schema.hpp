// One declaration per configuration field. A section lists its fields once, in file order, and flags, --help, JSON and
// YAML in, JSON out, unknown-field hints and the refusal of what is not implemented all come from that list:
//
//   struct EvalConfig : config::Section {
//     int64_t n_episodes = 50;
//     void fields(config::Visitor& visit) override {
//       visit("n_episodes", n_episodes, "Episodes to roll out at each evaluation");
//     }
//     void validate(config::Problems& problems) const override {
//       if (n_episodes < 1) problems.add("n_episodes", fmt::format("must be at least 1, got {}", n_episodes));
//     }
//   };
//
// Member types: bool, int64_t, double, std::string, std::filesystem::path, enums (codec.hpp), FeatureMap,
// NormalizationMap, OrderedMap<T>, std::vector<T>, std::array<T, N>, std::optional of those, Json, nested sections,
// std::optional<section>, Choice<Base>.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/config/choice.hpp"
#include "lerobot/config/codec.hpp"
#include "lerobot/config/problems.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::config {

class Visitor;

struct FieldOptions {
  bool implemented = true;        // false: refused by name when set away from its default
  bool newer_than_0_6_1 = false;  // written to train_config.json only when it differs from its default
  bool has_flag = true;
  bool ours = false;         // not LeRobot's: never written to train_config.json
  bool required = false;     // has no default: must be given
  bool zero_or_one = false;  // a bool that LeRobot annotates as int: 0 and 1 are accepted too
};

// A group of fields. Default-constructed sections hold LeRobot's defaults.
struct Section {
  virtual ~Section() = default;
  virtual void fields(Visitor& visit) = 0;
  // Rules of this section alone; nested sections are checked by themselves (validate_tree).
  virtual void validate(Problems& /*problems*/) const {}
};

// What a nested section's place can hold: exactly one section, null or one, null or one of several types.
class SectionSlot {
 public:
  virtual ~SectionSlot() = default;
  virtual Section* section() const = 0;  // null when the value is null
  virtual bool is_nullable() const = 0;
  virtual bool is_choice() const { return false; }
  virtual std::string type() const { return ""; }  // the chosen type
  virtual std::vector<std::string> types() const { return {}; }
  virtual std::vector<std::string> types_not_here() const { return {}; }
  virtual std::string default_type() const { return ""; }
  // A section with defaults, of `type` where there are types. Null: no such type.
  virtual std::unique_ptr<Section> make(std::string_view type) const = 0;
};

// A member of a section, whatever its type. Refers to the member: valid while the section lives.
class Value {
 public:
  virtual ~Value() = default;
  virtual Json to_json() const = 0;
  virtual void read(const Json& json, Problems& problems) = 0;  // problems are about "" of the current scope
  virtual std::string type_name() const = 0;
  virtual bool is_text() const { return false; }  // a flag's text is the value, unparsed
  virtual const SectionSlot* slot() const { return nullptr; }
};

struct Field {
  std::string name;
  std::string help;
  FieldOptions options;
  std::unique_ptr<Value> value;
};

namespace detail {

template <class T>
class Member final : public Value {
 public:
  explicit Member(T& member) : member_(member) {}
  Json to_json() const override { return Codec<T>::write(member_); }
  void read(const Json& json, Problems& problems) override { Codec<T>::read(json, member_, problems); }
  std::string type_name() const override { return Codec<T>::type_name(); }
  bool is_text() const override { return Codec<T>::kIsText; }

 private:
  T& member_;
};

// Shared by the three kinds of slots; does the work that needs no template.
class SlotValue : public Value, public SectionSlot {
 public:
  Json to_json() const override;
  void read(const Json& json, Problems& problems) override;
  std::string type_name() const override;
  const SectionSlot* slot() const override { return this; }

 protected:
  virtual void assign(std::unique_ptr<Section> section) = 0;  // null: becomes null
};

template <std::derived_from<Section> T>
class PlainSlot final : public SlotValue {
 public:
  explicit PlainSlot(T& member) : member_(member) {}
  Section* section() const override { return &member_; }
  bool is_nullable() const override { return false; }
  std::unique_ptr<Section> make(std::string_view) const override { return std::make_unique<T>(); }

 private:
  void assign(std::unique_ptr<Section> section) override { member_ = std::move(static_cast<T&>(*section)); }
  T& member_;
};

template <std::derived_from<Section> T>
class OptionalSlot final : public SlotValue {
 public:
  explicit OptionalSlot(std::optional<T>& member) : member_(member) {}
  Section* section() const override { return member_ ? &*member_ : nullptr; }
  bool is_nullable() const override { return true; }
  std::unique_ptr<Section> make(std::string_view) const override { return std::make_unique<T>(); }

 private:
  void assign(std::unique_ptr<Section> section) override {
    if (section) {
      member_ = std::move(static_cast<T&>(*section));
    } else {
      member_.reset();
    }
  }
  std::optional<T>& member_;
};

template <std::derived_from<Section> Base>
class ChoiceSlot final : public SlotValue {
 public:
  explicit ChoiceSlot(Choice<Base>& member) : member_(member) {}
  Section* section() const override { return member_.get(); }
  bool is_nullable() const override { return true; }
  bool is_choice() const override { return true; }
  std::string type() const override { return member_ ? member_->type() : ""; }
  std::vector<std::string> types() const override { return member_.registry().names(); }
  std::vector<std::string> types_not_here() const override { return member_.registry().names_not_here(); }
  std::string default_type() const override { return member_.registry().default_type(); }
  std::unique_ptr<Section> make(std::string_view type) const override { return member_.registry().make(type); }

 private:
  void assign(std::unique_ptr<Section> section) override {
    member_.set(std::unique_ptr<Base>(static_cast<Base*>(section.release())));
  }
  Choice<Base>& member_;
};

template <class T>
std::unique_ptr<Value> make_value(T& member) {
  if constexpr (std::derived_from<T, Section>) {
    return std::make_unique<PlainSlot<T>>(member);
  } else {
    return std::make_unique<Member<T>>(member);
  }
}
template <std::derived_from<Section> T>
std::unique_ptr<Value> make_value(std::optional<T>& member) {
  return std::make_unique<OptionalSlot<T>>(member);
}
template <class Base>
std::unique_ptr<Value> make_value(Choice<Base>& member) {
  return std::make_unique<ChoiceSlot<Base>>(member);
}

}  // namespace detail

// Gathers the fields that Section::fields() names.
class Visitor {
 public:
  template <class T>
  void operator()(std::string name, T& member, std::string help, FieldOptions options = {}) {
    fields_.push_back({std::move(name), std::move(help), options, detail::make_value(member)});
  }
  std::vector<Field> take() { return std::move(fields_); }

 private:
  std::vector<Field> fields_;
};

// A section's fields, in order. They refer into `section`.
std::vector<Field> fields_of(Section& section);
std::vector<std::string> field_names(Section& section);

// Fills `section` from an object; keys that are absent keep their values. Adds a problem for every unknown key, wrong
// type and missing required field.
void read_section(const Json& json, Section& section, Problems& problems);

// Every field, in declaration order.
Json to_json(const Section& section);

// The same without what LeRobot 0.6.1 would refuse: fields of ours are left out, newer ones too unless they differ
// from those of `defaults` (a section of the same type).
Json to_portable_json(const Section& section, Section& defaults);

// Adds a problem for every field that is not implemented and differs from `defaults`.
void refuse_unimplemented(Section& section, Section& defaults, Problems& problems);

// validate() of the section and of everything below it.
void validate_tree(Section& section, Problems& problems);

}  // namespace lerobot::config
