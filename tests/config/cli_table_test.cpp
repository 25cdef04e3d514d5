// LeRobot's own answers to about 250 command lines (tests/data/cli/cases.json, recorded by running the parser of
// LeRobot 0.6.2-dev, commit 7427f318, without an accelerator). Each case has the arguments and either the values of the
// resulting configuration or the flag, file or field that the refusal is about; "validate" means that LeRobot's
// validate() ran too.
#include <gmock/gmock.h>

#include <cmath>
#include <ctime>
#include <map>

#include "config_test_support.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot {
namespace {

// Where we answer differently on purpose. `values`: what we give instead, as JSON; "" means refused.
struct Deviation {
  const char* args;
  const char* values;
  const char* reason;
};

constexpr const char* kTextAsTyped = "a text field takes the text as typed";
constexpr const char* kNoNull = "LeRobot takes null for anything and fails later";
constexpr const char* kDeviceLater = "which device runs is decided in the device room";
constexpr const char* kLater = "LeRobot's, but not implemented here yet";

const Deviation kDeviations[] = {
    {"BASE --resume=null", "", kNoNull},
    {"--config_path=CFG.json --resume=null", "", kNoNull},
    {"BASE --steps=null", "", kNoNull},
    {"--config_path=CFG.json --steps=null", "", kNoNull},
    {"BASE --tolerance_s=null", "", kNoNull},
    {"--config_path=CFG.json --tolerance_s=null", "", kNoNull},
    {"BASE --job_name=1.50", R"({"job_name": "1.50"})", kTextAsTyped},
    {"BASE --job_name=true", R"({"job_name": "true"})", kTextAsTyped},
    {"BASE --job_name=yes", R"({"job_name": "yes"})", kTextAsTyped},
    {"BASE --job_name=a: b", R"({"job_name": "a: b"})", kTextAsTyped},
    {"BASE --job_name=[x]", R"({"job_name": "[x]"})", kTextAsTyped},
    {"BASE --job_name={x}", R"({"job_name": "{x}"})", kTextAsTyped},
    {"BASE --job_name=#c", R"({"job_name": "#c"})", kTextAsTyped},
    {"BASE --job_name=a #c", R"({"job_name": "a #c"})", kTextAsTyped},
    {"BASE --job_name=12:30", R"({"job_name": "12:30"})", kTextAsTyped},
    {"BASE --job_name=&x", R"({"job_name": "&x"})", kTextAsTyped},
    {"BASE --job_name=- x", R"({"job_name": "- x"})", kTextAsTyped},
    {"BASE --job_name=|", R"({"job_name": "|"})", kTextAsTyped},
    {"BASE --job_name=include_x", R"({"job_name": "include_x"})", "include is no reserved word here"},
    {"--config_path=CFG.json --job_name=include_x", R"({"job_name": "include_x"})", "include is no reserved word here"},
    {"BASE --job_name=@x", R"({"job_name": "@x"})", kTextAsTyped},
    {"BASE --job_name=*x", R"({"job_name": "*x"})", kTextAsTyped},
    {"BASE --job_name=!x", R"({"job_name": "!x"})", kTextAsTyped},
    {"BASE --job_name=%x", R"({"job_name": "%x"})", kTextAsTyped},
    {"BASE --job_name=x: y: z", R"({"job_name": "x: y: z"})", kTextAsTyped},
    {"--config_path=CFG.json --job_name=1.50", R"({"job_name": "1.50"})", kTextAsTyped},
    {"--config_path=CFG.json --job_name=true", R"({"job_name": "true"})", kTextAsTyped},
    {"--config_path=CFG.json --job_name=1e5", R"({"job_name": "1e5"})", kTextAsTyped},
    {"BASE --output_dir=123", R"({"output_dir": "123"})", kTextAsTyped},
    {"BASE --dataset.repo_id=[a/b,c/d]", R"({"dataset.repo_id": "[a/b,c/d]"})", kTextAsTyped},
    {"BASE --policy.type=act --policy.type=diffusion", "", kLater},
    {"--config_path=c3.toml", "", "no TOML"},
    {"BASE --policy.discover_packages_path=json", "", "no Python plug-ins"},
    {"--config_path=c2.yaml --policy.optimizer_lr=0.25 --output_dir=OUTPUT_DIR", R"({"policy.optimizer_lr": 0.25})",
     "LeRobot loses policy.path of a file when there are --policy flags"},
    {"--dataset.repo_id=a/b --policy.type=act --policy.device=cuda", R"({"policy.device": "cuda"})", kDeviceLater},
    {"--dataset.repo_id=a/b --policy.type=act --policy.device=cuda:1", R"({"policy.device": "cuda:1"})", kDeviceLater},
    {"--dataset.repo_id=a/b --policy.type=act --policy.device=mps", R"({"policy.device": "mps"})", kDeviceLater},
    {"--dataset.repo_id=a/b --policy.type=act --policy.device=null", R"({"policy.device": null})", kDeviceLater},
    {"--dataset.repo_id=a/b --policy.type=act --policy.use_amp=true",
     R"({"policy.device": null, "policy.use_amp": true})", kDeviceLater},
};

std::string key_of(const std::vector<std::string>& args) {
  const std::string base = "--dataset.repo_id=a/b --policy.type=act --policy.device=cpu";
  const std::string joined = join(args, " ");
  return joined.starts_with(base + " ") ? "BASE" + joined.substr(base.size()) : joined;
}

// "a.b" in nested JSON.
Json at_dotted(Json json, std::string_view dotted) {
  while (!dotted.empty()) {
    const size_t end = std::min(dotted.find('.'), dotted.size());
    json = json.at(std::string(dotted.substr(0, end)));
    dotted.remove_prefix(std::min(end + 1, dotted.size()));
  }
  return json;
}

bool is_same(const Json& a, const Json& b) {
  const bool both_nan =
      a.is_number_float() && b.is_number_float() && std::isnan(a.get<double>()) && std::isnan(b.get<double>());
  return both_nan || a == b;
}

// The moment in a default output_dir, "outputs/train/2026-11-29/21-37-15_act".
std::chrono::system_clock::time_point moment_of(const std::string& output_dir) {
  std::tm local{};
  strptime(output_dir.c_str(), "outputs/train/%Y-%m-%d/%H-%M-%S", &local);
  local.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&local));
}

class CliTableTest : public CommandLineTest {
 protected:
  void SetUp() override {
    CommandLineTest::SetUp();
    write("c2.yaml",
          "dataset: {repo_id: a/b}\npolicy: {path: pretrained_model, device: cpu, optimizer_lr: 0.5, push_to_hub: "
          "false}\n");
    std::filesystem::create_directory("scratch");
  }

  static std::vector<std::string> arguments(const Json& test_case) {
    std::vector<std::string> args = test_case["args"];
    for (std::string& arg : args) {
      if (arg == "--policy.path=PRETRAINED_DIR") arg = "--policy.path=pretrained_model";
      if (arg == "--config_path=.") arg = "--config_path=scratch";
    }
    return args;
  }

  void expect_values(const Json& test_case, const Json& values) {
    config::Problems problems;
    auto command = config::read_command_line(arguments(test_case), registries_, "lerobot-train", problems);
    if (test_case.contains("validate")) {
      RunContext context{
          .config_path = command.config_path, .has_policy_path = !command.policy_path.empty(), .typed = command.typed};
      if (values.contains("output_dir")) context.now = moment_of(values["output_dir"]);
      complete(*command.config, context, problems);
    }
    EXPECT_THAT(problems.lines(), ::testing::IsEmpty());
    const Json json = config::to_json(*command.config);
    for (const auto& [field, value] : values.items()) {
      Json actual = at_dotted(json, field);
      if (field == "eval") actual.erase("count_step_after_end");  // ours
      EXPECT_TRUE(is_same(actual, value)) << field << " is " << actual << ", expected " << value;
    }
  }

  // `about`: what the message must name.
  void expect_refused(const Json& test_case, const std::string& about) {
    std::string message;
    try {
      config::Problems problems;
      auto command = config::read_command_line(arguments(test_case), registries_, "lerobot-train", problems);
      complete(*command.config, {.config_path = command.config_path, .typed = command.typed}, problems);
      message = join(problems.lines(), "\n");
    } catch (const UsageError& error) {
      message = error.what();
    }
    EXPECT_THAT(message, ::testing::HasSubstr(about));
  }
};

TEST_F(CliTableTest, AnswersAsLeRobotDoesSaveForTheListedDeviations) {
  std::map<std::string, const Deviation*> deviations;
  for (const Deviation& deviation : kDeviations) deviations[deviation.args] = &deviation;
  const Json cases = read_json("cases.json");
  ASSERT_EQ(cases.size(), 253u);
  for (const Json& test_case : cases) {
    const std::string key = key_of(test_case["args"]);
    SCOPED_TRACE(key);
    const auto found = deviations.find(key);
    if (found != deviations.end()) {
      const std::string values = found->second->values;
      if (values.empty()) {
        const std::string last = std::vector<std::string>(test_case["args"]).back();
        expect_refused(test_case, last.substr(0, last.find('=')));
      } else {
        expect_values(test_case, parse_json(values, "deviation"));
      }
      deviations.erase(found);
    } else if (test_case.contains("refused")) {
      expect_refused(test_case, test_case["refused"]);
    } else {
      expect_values(test_case, test_case["values"]);
    }
  }
  for (const auto& [key, _] : deviations) ADD_FAILURE() << "a deviation without a case: " << key;
}

// Without this a refused case could pass for a reason of its own.
TEST_F(CliTableTest, FindsNothingWrongWithTheCommonArguments) {
  EXPECT_EQ(error_of(base_), "");
  EXPECT_EQ(error_of({"--config_path=CFG.json"}), "");
}

}  // namespace
}  // namespace lerobot
