#include "lerobot/config/schema.hpp"

#include <fmt/format.h>

#include "lerobot/core/text.hpp"

namespace lerobot::config {
namespace {

// 0 and 1 for a bool that LeRobot annotates as int.
Json as_bool(const Json& json) {
  if (json == 0 || json == "0") return false;
  if (json == 1 || json == "1") return true;
  return json;
}

Field* find(std::vector<Field>& fields, std::string_view name) {
  for (Field& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

// The twin to compare a nested section with: the default one in the same place or, where that is null or of another
// type, a fresh one of the same type.
struct Twin {
  std::unique_ptr<Section> owned;
  Section* section = nullptr;
};
Twin default_twin(const SectionSlot& slot, const SectionSlot& default_slot) {
  Twin twin;
  if (default_slot.section() && default_slot.type() == slot.type()) {
    twin.section = default_slot.section();
  } else {
    twin.owned = slot.make(slot.type());
    twin.section = twin.owned.get();
  }
  return twin;
}

std::string type_list(const SectionSlot& slot) {
  const auto types = slot.types();
  return types.empty() ? "none of its types is here yet, leave it out" : "here are " + join(types, ", ");
}

void add_unknown_type(const SectionSlot& slot, const std::string& type, Problems& problems) {
  for (const std::string& name : slot.types_not_here()) {
    if (name == type) {
      problems.add("type", fmt::format("'{}' is LeRobot's but not implemented here yet; {}", type, type_list(slot)));
      return;
    }
  }
  const auto types = slot.types();
  problems.add("type", fmt::format("there is no type '{}'; {}.{}", type, type_list(slot), did_you_mean(type, types)));
}

// `of_type`: " of type 'adam'" where the section is one of several types.
void read_fields(const Json& json, Section& section, const std::string& of_type, Problems& problems) {
  auto fields = fields_of(section);
  if (!detail::expect_object(json, "of fields", problems)) return;
  for (Field& field : fields) {
    if (!json.contains(field.name)) {
      if (field.options.required) problems.add(field.name, "is required");
      const SectionSlot* slot = field.value->slot();
      if (!slot || slot->is_nullable()) continue;
      const auto scope = problems.enter(field.name);
      read_section(Json::object(), *slot->section(), problems);  // it may hold required fields
      continue;
    }
    const auto scope = problems.enter(field.name);
    field.value->read(field.options.zero_or_one ? as_bool(json[field.name]) : json[field.name], problems);
  }
  const auto names = field_names(section);
  for (const auto& [key, _] : json.items()) {
    if (find(fields, key)) continue;
    problems.add_unknown(key, fmt::format("{}.{}", of_type, did_you_mean(key, names)));
  }
}

// Refuses changed fields that are not implemented; with `all` every changed field.
void refuse_changes(Section& section, Section& defaults, bool all, Problems& problems) {
  auto default_fields = fields_of(defaults);
  for (const Field& field : fields_of(section)) {
    const Value& default_value = *find(default_fields, field.name)->value;
    const SectionSlot* slot = field.value->slot();
    const bool refused = all || !field.options.implemented;
    const bool is_whole = !slot || !slot->section() || slot->is_nullable();  // no group of fields that is always there
    if (refused && is_whole) {
      const Json value = field.value->to_json();
      const Json usual = default_value.to_json();
      if (value == usual) continue;
      const std::string given = slot ? "" : fmt::format("'{}' ", brief(value));
      problems.add(field.name, fmt::format("{}is not implemented yet; {}", given,
                                           usual.is_null() ? "leave it out" : "leave it at " + brief(usual)));
    } else if (slot && slot->section()) {
      const Twin twin = default_twin(*slot, *default_value.slot());
      const auto scope = problems.enter(field.name);
      refuse_changes(*slot->section(), *twin.section, refused, problems);
    }
  }
}

}  // namespace

std::vector<Field> fields_of(Section& section) {
  Visitor visitor;
  section.fields(visitor);
  return visitor.take();
}

std::vector<std::string> field_names(Section& section) {
  std::vector<std::string> names;
  for (const Field& field : fields_of(section)) names.push_back(field.name);
  return names;
}

void read_section(const Json& json, Section& section, Problems& problems) {
  read_fields(json, section, "", problems);
}

Json to_json(const Section& section) {
  Json json = Json::object();
  // fields() is not const because reading needs the members; writing does not touch them.
  for (const Field& field : fields_of(const_cast<Section&>(section))) json[field.name] = field.value->to_json();
  return json;
}

Json to_portable_json(const Section& section, Section& defaults) {
  auto default_fields = fields_of(defaults);
  Json json = Json::object();
  for (const Field& field : fields_of(const_cast<Section&>(section))) {
    const Field& default_field = *find(default_fields, field.name);
    if (field.options.ours) continue;
    if (field.options.newer_than_0_6_1 && field.value->to_json() == default_field.value->to_json()) continue;
    const SectionSlot* slot = field.value->slot();
    if (!slot || !slot->section()) {
      json[field.name] = field.value->to_json();
      continue;
    }
    const Twin twin = default_twin(*slot, *default_field.value->slot());
    Json nested = Json::object();
    if (slot->is_choice()) nested["type"] = slot->type();
    nested.update(to_portable_json(*slot->section(), *twin.section));
    json[field.name] = std::move(nested);
  }
  return json;
}

void refuse_unimplemented(Section& section, Section& defaults, Problems& problems) {
  refuse_changes(section, defaults, false, problems);
}

void validate_tree(Section& section, Problems& problems) {
  section.validate(problems);
  for (const Field& field : fields_of(section)) {
    const SectionSlot* slot = field.value->slot();
    if (!slot || !slot->section()) continue;
    const auto scope = problems.enter(field.name);
    validate_tree(*slot->section(), problems);
  }
}

namespace detail {

Json SlotValue::to_json() const {
  if (!section()) return nullptr;
  Json json = Json::object();
  if (is_choice()) json["type"] = type();
  json.update(config::to_json(*section()));
  return json;
}

void SlotValue::read(const Json& json, Problems& problems) {
  if (json.is_null() && is_nullable()) return assign(nullptr);
  if (!is_nullable()) return read_section(json, *section(), problems);
  if (!expect_object(json, is_choice() ? "with a type" : "of fields", problems)) return;
  Json fields = json;
  std::string type = default_type();
  if (is_choice()) {
    if (json.contains("type")) type = brief(json["type"]);
    if (type.empty()) return problems.add("type", fmt::format("is missing; {}", type_list(*this)));
    fields.erase("type");
  }
  auto made = make(type);
  if (!made) return add_unknown_type(*this, type, problems);
  read_fields(fields, *made, is_choice() ? fmt::format(" of type '{}'", type) : "", problems);
  assign(std::move(made));
}

std::string SlotValue::type_name() const {
  return is_nullable() ? "{...}|null" : "{...}";
}

}  // namespace detail
}  // namespace lerobot::config
