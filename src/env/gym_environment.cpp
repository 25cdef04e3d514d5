#include "lerobot/env/gym_environment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "gym_worker.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::env {
namespace {

ElementType parse_element_type(const std::string& name) {
  for (const auto type : {ElementType::kUint8, ElementType::kInt64, ElementType::kFloat32, ElementType::kFloat64}) {
    if (element_type_name(type) == name) return type;
  }
  throw std::logic_error("not an element type: " + name);
}

size_t byte_size(const GymObservationSpace& space) {
  size_t size = element_size(space.type);
  for (const int64_t length : space.shape) size *= static_cast<size_t>(length);
  return size;
}

InfoValue info_value(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.get<std::vector<double>>();
}

Info read_info(const Json& answer) {
  Info info;
  if (const Json& success = answer.at("is_success"); success.is_boolean()) info.is_success = success.get<bool>();
  for (const auto& [name, value] : answer.at("info").items()) info.values.emplace(name, info_value(value));
  return info;
}

// What LeRobot hands to an environment: float32 numbers.
Json float32_numbers(std::span<const double> action, const std::string& id) {
  Json numbers = Json::array();
  for (size_t i = 0; i < action.size(); ++i) {
    const auto number = static_cast<float>(action[i]);
    if (!std::isfinite(number)) {
      throw RunError(fmt::format("{}: number {} of the action is {}, not a finite float32", id, i, action[i]));
    }
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

}  // namespace

GymEnvironment::GymEnvironment(std::shared_ptr<GymWorker> worker, int64_t index, const Json& description)
    : worker_(std::move(worker)), index_(index) {
  metadata_.id = description.at("id").is_string() ? description.at("id").get<std::string>() : worker_->options().gym_id;
  metadata_.render_fps = description.at("render_fps").get<double>();
  if (const Json& steps = description.at("max_episode_steps"); !steps.is_null()) {
    metadata_.max_episode_steps = steps.get<int64_t>();
  }
  metadata_.action_dim = description.at("action_dim").get<int64_t>();
  metadata_.task = description.at("task").get<std::string>();
  for (const Json& leaf : description.at("observations")) {
    space_.push_back({leaf.at("path").get<std::string>(), parse_element_type(leaf.at("type").get<std::string>()),
                      leaf.at("shape").get<std::vector<int64_t>>()});
    offsets_.push_back(leaf.at("offset").get<size_t>());
  }
}

GymEnvironment::~GymEnvironment() = default;

Json GymEnvironment::request(const char* operation) const {
  return {{"op", operation}, {"env", index_}};
}

Observation GymEnvironment::read_observation() const {
  Observation observation;
  for (size_t i = 0; i < space_.size(); ++i) {
    Array array{space_[i].type, space_[i].shape, std::vector<std::byte>(byte_size(space_[i]))};
    worker_->read(offsets_[i], array.bytes);
    observation.emplace(space_[i].path, std::move(array));
  }
  return observation;
}

ResetResult GymEnvironment::reset(std::optional<uint64_t> seed, const ResetOptions& options) {
  return reset_with_options(seed, options.new_rollout ? Json{{"lerobot_new_rollout", true}} : Json());
}

ResetResult GymEnvironment::reset_with_options(std::optional<uint64_t> seed, const Json& options) {
  Json message = request("reset");
  message["seed"] = seed ? Json(*seed) : Json();
  message["options"] = options;
  const Json answer = worker_->request(message);
  metadata_.task = answer.at("task").get<std::string>();
  is_reset_ = true;
  return {read_observation(), read_info(answer)};
}

StepResult GymEnvironment::step(std::span<const double> action) {
  if (!is_reset_) throw std::logic_error("step() before the first reset()");
  if (static_cast<int64_t>(action.size()) != metadata_.action_dim) {
    throw UsageError(fmt::format("{} takes actions of {} numbers, the policy gives {}", metadata_.id,
                                 metadata_.action_dim, action.size()));
  }
  Json message = request("step");
  message["action"] = float32_numbers(action, metadata_.id);
  const Json answer = worker_->request(message);
  return {.observation = read_observation(),
          .reward = answer.at("reward").get<double>(),
          .terminated = answer.at("terminated").get<bool>(),
          .truncated = answer.at("truncated").get<bool>(),
          .info = read_info(answer)};
}

Image GymEnvironment::render() {
  if (!is_reset_) throw std::logic_error("render() before the first reset()");
  const Json answer = worker_->request(request("render"));
  Image image{answer.at("width").get<int64_t>(), answer.at("height").get<int64_t>(), {}};
  image.rgb.resize(static_cast<size_t>(image.width * image.height * 3));
  worker_->read(answer.at("offset").get<size_t>(), std::as_writable_bytes(std::span(image.rgb)));
  return image;
}

std::optional<Json> GymEnvironment::attribute(const std::string& name) {
  Json message = request("get");
  message["name"] = name;
  Json answer = worker_->request(message);
  if (!answer.at("has").get<bool>()) return std::nullopt;
  return answer.at("value");
}

void GymEnvironment::set_attribute(const std::string& name, const Json& value) {
  Json message = request("set");
  message["name"] = name;
  message["value"] = value;
  worker_->request(message);
}

int64_t GymEnvironment::process_id() const {
  return worker_->process_id();
}

std::vector<std::unique_ptr<GymEnvironment>> make_gym_environments(const GymOptions& options, int64_t count,
                                                                   bool one_process_each) {
  std::vector<std::unique_ptr<GymEnvironment>> environments;
  if (!one_process_each) {
    const auto worker = std::make_shared<GymWorker>(options, options.gym_id);
    for (int64_t i = 0; i < count; ++i) {
      worker->begin_make(i);
      environments.push_back(std::make_unique<GymEnvironment>(worker, i, worker->finish_make()));
    }
    return environments;
  }
  std::vector<std::shared_ptr<GymWorker>> workers;
  for (int64_t i = 0; i < count; ++i) {
    workers.push_back(std::make_shared<GymWorker>(options, fmt::format("{} [{}]", options.gym_id, i), i > 0));
    workers.back()->begin_make(0);
  }
  for (const auto& worker : workers)
    environments.push_back(std::make_unique<GymEnvironment>(worker, 0, worker->finish_make()));
  return environments;
}

}  // namespace lerobot::env
