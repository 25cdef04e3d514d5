// How each member type of a configuration is read from JSON and written to it. Rules of what is accepted are
// LeRobot's (draccus 0.11): "12" is fine for an int and 4.0 is not, enums take their value or their Python name.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "lerobot/config/features.hpp"
#include "lerobot/config/problems.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::config {

struct Section;

// Codec<T>::read leaves `value` alone and adds a problem when the JSON does not fit.
// Codec<T>::write gives the whole value, every field included.
// Codec<T>::type_name is what --help shows.
// kIsText: a flag's text is the value itself, never parsed as YAML or JSON.
template <class T>
struct Codec;

#define LEROBOT_DECLARE_CODEC(TYPE, IS_TEXT)                        \
  template <>                                                       \
  struct Codec<TYPE> {                                              \
    static constexpr bool kIsText = IS_TEXT;                        \
    static void read(const Json&, TYPE& value, Problems& problems); \
    static Json write(const TYPE& value);                           \
    static std::string type_name();                                 \
  };
LEROBOT_DECLARE_CODEC(bool, false)
LEROBOT_DECLARE_CODEC(int64_t, false)
LEROBOT_DECLARE_CODEC(double, false)
LEROBOT_DECLARE_CODEC(std::string, true)
LEROBOT_DECLARE_CODEC(std::filesystem::path, true)
LEROBOT_DECLARE_CODEC(PolicyFeature, false)
LEROBOT_DECLARE_CODEC(FeatureType, true)
LEROBOT_DECLARE_CODEC(NormalizationMode, true)
LEROBOT_DECLARE_CODEC(Json, false)  // a free value, kept as it is
#undef LEROBOT_DECLARE_CODEC

// JSON for a message: text bare, the rest as Python's json writes it, cut when long.
std::string brief(const Json& json);

namespace detail {
std::string list_name(const std::vector<std::string>& item_names);      // "[float, float]"
std::string dict_name(const std::string& item_name);                    // "{str: float}"
std::string choice_name(const std::vector<std::string>& alternatives);  // "none|full"
bool expect_array(const Json& json, std::string_view type_name, Problems& problems);
bool expect_object(const Json& json, std::string_view type_name, Problems& problems);
void add_wrong_length(size_t expected, size_t actual, Problems& problems);
void add_unknown_choice(const Json& json, const std::vector<std::string>& accepted, Problems& problems);
}  // namespace detail

// schema.hpp
void read_section(const Json& json, Section& section, Problems& problems);
Json to_json(const Section& section);

template <class T>
struct Codec<std::optional<T>> {
  static constexpr bool kIsText = Codec<T>::kIsText;
  static void read(const Json& json, std::optional<T>& value, Problems& problems) {
    if (json.is_null()) {
      value.reset();
      return;
    }
    T read_value{};
    const size_t before = problems.lines().size();
    Codec<T>::read(json, read_value, problems);
    if (problems.lines().size() == before) value = std::move(read_value);
  }
  static Json write(const std::optional<T>& value) { return value ? Codec<T>::write(*value) : Json(nullptr); }
  static std::string type_name() { return Codec<T>::type_name() + "|null"; }
};

template <class T>
struct Codec<std::vector<T>> {
  static constexpr bool kIsText = false;
  static void read(const Json& json, std::vector<T>& value, Problems& problems) {
    if (!detail::expect_array(json, type_name(), problems)) return;
    std::vector<T> items(json.size());
    const size_t before = problems.lines().size();
    for (size_t i = 0; i < items.size(); ++i) {
      const auto scope = problems.enter_item(std::to_string(i));
      Codec<T>::read(json[i], items[i], problems);
    }
    if (problems.lines().size() == before) value = std::move(items);
  }
  static Json write(const std::vector<T>& value) {
    Json json = Json::array();
    for (const T& item : value) json.push_back(Codec<T>::write(item));
    return json;
  }
  static std::string type_name() { return detail::list_name({Codec<T>::type_name()}); }
};

// A Python tuple: exactly N items.
template <class T, size_t N>
struct Codec<std::array<T, N>> {
  static constexpr bool kIsText = false;
  static void read(const Json& json, std::array<T, N>& value, Problems& problems) {
    if (!detail::expect_array(json, type_name(), problems)) return;
    if (json.size() != N) return detail::add_wrong_length(N, json.size(), problems);
    for (size_t i = 0; i < N; ++i) {
      const auto scope = problems.enter_item(std::to_string(i));
      Codec<T>::read(json[i], value[i], problems);
    }
  }
  static Json write(const std::array<T, N>& value) {
    Json json = Json::array();
    for (const T& item : value) json.push_back(Codec<T>::write(item));
    return json;
  }
  static std::string type_name() { return detail::list_name(std::vector<std::string>(N, Codec<T>::type_name())); }
};

template <class T>
struct Codec<OrderedMap<T>> {
  static constexpr bool kIsText = false;
  static void read(const Json& json, OrderedMap<T>& value, Problems& problems) {
    if (!detail::expect_object(json, type_name(), problems)) return;
    OrderedMap<T> items;
    const size_t before = problems.lines().size();
    for (const auto& [key, item] : json.items()) {
      const auto scope = problems.enter_item(key);
      T read_value{};
      Codec<T>::read(item, read_value, problems);
      items.set(key, std::move(read_value));
    }
    if (problems.lines().size() == before) value = std::move(items);
  }
  static Json write(const OrderedMap<T>& value) {
    Json json = Json::object();
    for (const auto& [key, item] : value) json[key] = Codec<T>::write(item);
    return json;
  }
  static std::string type_name() { return detail::dict_name(Codec<T>::type_name()); }
};

// An enumeration becomes a field type by a function `std::vector<EnumEntry<E>> enum_entries(E)` beside it.
template <class E>
struct EnumEntry {
  E value;
  std::string text;         // as written: "safetensors_dcp"
  std::string python_name;  // accepted as well: "SAFETENSORS_AND_DCP"
};

template <class E>
requires std::is_enum_v<E>
struct Codec<E> {
  static constexpr bool kIsText = true;
  static void read(const Json& json, E& value, Problems& problems) {
    for (const auto& entry : enum_entries(E{})) {
      if (json.is_string() && (json == entry.text || json == entry.python_name)) {
        value = entry.value;
        return;
      }
    }
    detail::add_unknown_choice(json, texts(), problems);
  }
  static Json write(E value) {
    for (const auto& entry : enum_entries(E{}))
      if (entry.value == value) return entry.text;
    return nullptr;
  }
  static std::string type_name() { return detail::choice_name(texts()); }

 private:
  static std::vector<std::string> texts() {
    std::vector<std::string> result;
    for (const auto& entry : enum_entries(E{})) result.push_back(entry.text);
    return result;
  }
};

template <class T>
requires std::derived_from<T, Section>
struct Codec<T> {
  static constexpr bool kIsText = false;
  static void read(const Json& json, T& value, Problems& problems) { read_section(json, value, problems); }
  static Json write(const T& value) { return to_json(value); }
  static std::string type_name() { return "{...}"; }
};

}  // namespace lerobot::config
