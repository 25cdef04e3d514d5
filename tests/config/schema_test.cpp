#include "lerobot/config/schema.hpp"

#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"

namespace lerobot::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Wheel : Section {
  double radius = 0.5;
  int64_t spokes = 8;
  void fields(Visitor& visit) override {
    visit("radius", radius, "");
    visit("spokes", spokes, "", {.newer_than_0_6_1 = true});
  }
  void validate(Problems& problems) const override {
    if (radius <= 0) problems.add("radius", "must be above 0");
  }
};

struct Engine : Section {
  virtual std::string type() const = 0;
};
struct Diesel : Engine {
  int64_t cylinders = 4;
  std::string type() const override { return "diesel"; }
  void fields(Visitor& visit) override { visit("cylinders", cylinders, ""); }
};

struct Car : Section {
  std::string name;
  Wheel wheel;
  std::optional<Wheel> spare;
  Choice<Engine> engine{
      ChoiceRegistry<Engine>().add("diesel", [] { return std::make_unique<Diesel>(); }).not_here({"jet"})};
  std::optional<std::vector<int64_t>> gears;
  std::array<double, 2> range = {1.0, 2.0};
  bool turbo = false;
  FeatureMap features;
  bool secret = true;

  void fields(Visitor& visit) override {
    visit("name", name, "", {.required = true});
    visit("wheel", wheel, "");
    visit("spare", spare, "");
    visit("engine", engine, "");
    visit("gears", gears, "");
    visit("range", range, "");
    visit("turbo", turbo, "", {.implemented = false, .zero_or_one = true});
    visit("features", features, "");
    visit("secret", secret, "", {.ours = true});
  }
};

std::vector<std::string> read(std::string_view text, Car& car) {
  Problems problems;
  read_section(parse_json(text, "test"), car, problems);
  return problems.lines();
}

TEST(Schema, ReadsBackWhatItWrites) {
  Car car;
  EXPECT_THAT(
      read(
          R"({"name": "a", "wheel": {"radius": 2}, "spare": {"spokes": 3}, "engine": {"type": "diesel", "cylinders": 6},
                      "gears": [1, 2], "range": [0, 9], "turbo": 1, "features": {"z": {"type": "STATE", "shape": [2]},
                      "a": {"type": "VISUAL", "shape": [3, 4, 5]}}})",
          car),
      IsEmpty());
  const Json written = to_json(car);
  Car again;
  EXPECT_THAT(read(written.dump(), again), IsEmpty());
  EXPECT_EQ(to_json(again), written);
  EXPECT_EQ(written.dump(),
            R"({"name":"a","wheel":{"radius":2.0,"spokes":8},"spare":{"radius":0.5,"spokes":3},)"
            R"("engine":{"type":"diesel","cylinders":6},"gears":[1,2],"range":[0.0,9.0],"turbo":true,)"
            R"("features":{"z":{"type":"STATE","shape":[2]},"a":{"type":"VISUAL","shape":[3,4,5]}},"secret":true})");
}

TEST(Schema, NamesTheWholeFlagOfEachProblem) {
  Car car;
  EXPECT_THAT(
      read(R"({"wheel": {"radius": "wide", "spoke": 3}, "gears": [1, "x"], "range": [1],
                      "features": {"a": {"type": "STATE", "shape": ["y"]}}, "engine": {"type": "diesel", "cylinders": 1.5}})",
           car),
      ElementsAre("--name: is required", "--wheel.radius: expected a number, got 'wide'",
                  "--wheel.spoke: there is no such field. Did you mean `spokes`?",
                  "--engine.cylinders: expected an integer, got '1.5'", "--gears: `1`: expected an integer, got 'x'",
                  "--range: expected 2 items, got 1", "--features: `a`: `shape`: `0`: expected an integer, got 'y'"));
}

TEST(Schema, SetsAnOptionalSectionAndAChoiceToNull) {
  Car car;
  read(R"({"name": "a", "spare": {}, "engine": {"type": "diesel"}})", car);
  EXPECT_TRUE(car.spare);
  read(R"({"name": "a", "spare": null, "engine": null})", car);
  EXPECT_FALSE(car.spare);
  EXPECT_FALSE(car.engine);
}

TEST(Schema, SaysWhichTypesThereAre) {
  Car car;
  EXPECT_THAT(read(R"({"name": "a", "engine": {"type": "deisel"}})", car),
              ElementsAre("--engine.type: there is no type 'deisel'; here are diesel. Did you mean `diesel`?"));
  EXPECT_THAT(read(R"({"name": "a", "engine": {"type": "jet"}})", car),
              ElementsAre("--engine.type: 'jet' is LeRobot's but not implemented here yet; here are diesel"));
  EXPECT_THAT(read(R"({"name": "a", "engine": {"cylinders": 3}})", car),
              ElementsAre("--engine.type: is missing; here are diesel"));
}

TEST(Schema, PortableJsonLeavesOutOursAndNewFieldsAtTheirDefaults) {
  Car car;
  Car defaults;
  EXPECT_EQ(to_portable_json(car, defaults)["wheel"].dump(), R"({"radius":0.5})");
  EXPECT_FALSE(to_portable_json(car, defaults).contains("secret"));
  car.wheel.spokes = 3;
  EXPECT_EQ(to_portable_json(car, defaults)["wheel"].dump(), R"({"radius":0.5,"spokes":3})");
}

TEST(Schema, RefusesAChangedFieldThatIsNotImplemented) {
  Car car;
  Car defaults;
  Problems none;
  refuse_unimplemented(car, defaults, none);
  EXPECT_THAT(none.lines(), IsEmpty());
  car.turbo = true;
  Problems problems;
  refuse_unimplemented(car, defaults, problems);
  EXPECT_THAT(problems.lines(), ElementsAre("--turbo: 'true' is not implemented yet; leave it at false"));
}

TEST(Schema, ValidatesEverySectionBelow) {
  Car car;
  car.wheel.radius = 0;
  car.spare.emplace().radius = -1;
  Problems problems;
  validate_tree(car, problems);
  EXPECT_THAT(problems.lines(), ElementsAre("--wheel.radius: must be above 0", "--spare.radius: must be above 0"));
}

TEST(Problems, ThrowsAllLinesAsOneUsageError) {
  Problems problems;
  problems.throw_if_any();
  problems.add("a", "first");
  problems.add_line("second");
  problems.warn("c", "only a warning");
  try {
    problems.throw_if_any();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--a: first\nsecond");
  }
}

}  // namespace
}  // namespace lerobot::config
