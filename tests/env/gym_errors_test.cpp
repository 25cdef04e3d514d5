// What people are told when a Python environment fails, and that no process stays behind.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <mutex>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "gym_test_environments.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/env/vector_env.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::env {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

constexpr std::array kAction{0.25, -0.5};

// The log of a test's time.
class Log {
 public:
  Log() {
    log::set_line_writer([this](std::string_view line) { text_ += line; });  // called under the log's lock
  }
  ~Log() { log::set_line_writer({}); }
  const std::string& text() const { return text_; }  // when no environment lives

 private:
  std::string text_;
};

class GymErrors : public testing::Test {
 protected:
  void SetUp() override { LEROBOT_NEEDS_PYTHON_WITH_NUMPY(); }
};

std::unique_ptr<GymEnvironment> make_one(const GymOptions& options) {
  return std::move(make_gym_environments(options, 1, true).front());
}

// Has gone and has been waited for.
bool is_gone(int64_t process) {
  return ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

template <typename Error>
auto throws_with(auto... parts) {
  return ThrowsMessage<Error>(AllOf(HasSubstr(parts)...));
}

TEST(GymPython, IsLookedForInTheVirtualEnvironmentAndInPath) {
  const testing_support::TemporaryDirectory folder;
  const auto program = folder.path() / "bin" / "python";
  std::filesystem::create_directory(folder.path() / "bin");
  std::filesystem::create_symlink("/bin/sh", program);
  const char* const before = std::getenv("VIRTUAL_ENV");
  const std::string restored = before == nullptr ? "" : before;

  ::setenv("VIRTUAL_ENV", folder.path().c_str(), 1);
  EXPECT_EQ(find_gym_python(""), program);
  ::setenv("VIRTUAL_ENV", "/no/such/folder", 1);
  EXPECT_THAT([] { find_gym_python(""); }, throws_with<UsageError>("/no/such/folder", "--env.python"));
  EXPECT_EQ(find_gym_python(program), program) << "a path needs no virtual environment";
  EXPECT_EQ(find_gym_python("sh").filename(), "sh");
  before == nullptr ? ::unsetenv("VIRTUAL_ENV") : ::setenv("VIRTUAL_ENV", restored.c_str(), 1);

  EXPECT_THAT([] { find_gym_python("/no/such/python"); }, throws_with<UsageError>("/no/such/python", "--env.python"));
  EXPECT_THAT([] { find_gym_python("no_such_python"); }, throws_with<UsageError>("no_such_python", "PATH"));
}

TEST(GymPython, ThatIsNoPythonIsNamedWithWhatItSaid) {
  GymOptions options;
  options.gym_id = "gym_tests/Counter-v0";
  options.python = "/bin/sh";  // refuses Python's options
  EXPECT_THAT([&] { make_one(options); }, throws_with<RunError>("ended with exit code", "/bin/sh"));
}

TEST_F(GymErrors, NameAMissingPackageAndTheInterpreterThatLacksIt) {
  GymOptions options = test_options("Counter-v0");
  options.gym_id = "gym_nowhere/Thing-v0";
  EXPECT_THAT([&] { make_one(options); },
              throws_with<UsageError>("'gym_nowhere'", "gym_nowhere/Thing-v0", options.python, "--env.python"));
  options.imports = {"my_package.environments"};
  EXPECT_THAT([&] { make_one(options); }, throws_with<UsageError>("'my_package'"));
  EXPECT_THAT([] { make_one(test_options("NeedsMore-v0")); }, throws_with<UsageError>("'a_package_that_nobody_has'"));
}

TEST_F(GymErrors, NameGymnasiumWhenItIsMissing) {
  GymOptions options = test_options("Counter-v0");
  options.sys_path.clear();
  options.environment["PYTHONNOUSERSITE"] = "1";
  options.gym_id = "gym_nowhere/Thing-v0";
  // An interpreter with the real gymnasium misses the environment's package instead.
  EXPECT_THAT([&] { make_one(options); }, throws_with<UsageError>("is missing", "-m pip install"));
}

TEST_F(GymErrors, NameAnUnknownEnvironment) {
  EXPECT_THAT([] { make_one(test_options("Conuter-v0")); },
              throws_with<UsageError>("gym_tests/Conuter-v0 cannot be made", "NameNotFound"));
}

TEST_F(GymErrors, NameAWrongArgument) {
  EXPECT_THAT(
      [] {
        make_one(test_options("Counter-v0", {{"lenght", 3}}));
      },
      throws_with<UsageError>("cannot be made", "TypeError", "lenght"));
}

TEST_F(GymErrors, RefuseActionsThatAreNoRowOfNumbers) {
  EXPECT_THAT([] { make_one(test_options("Discrete-v0")); }, throws_with<UsageError>("Discrete(4)"));
  const auto environment = make_test_environment("Counter-v0");
  environment->reset(0);
  EXPECT_THAT([&] { environment->step(std::array{1.0}); }, throws_with<UsageError>("of 2 numbers", "gives 1"));
  EXPECT_THAT(
      [&] {
        environment->step(std::array{1.0, std::numeric_limits<double>::quiet_NaN()});
      },
      throws_with<RunError>("number 1 of the action", "nan"));
  EXPECT_THAT([&] { environment->step(std::array{1e300, 0.0}); }, throws_with<RunError>("number 0", "1e+300"));
  EXPECT_NO_THROW(environment->step(kAction));
}

TEST_F(GymErrors, GiveAnExceptionsMessageAndLogItsTraceback) {
  Log log;
  EXPECT_THAT([] { make_one(trouble("raises", "make")); },
              throws_with<UsageError>("cannot be made", "ValueError: the gripper is stuck"));
  {
    const auto environment = make_one(trouble("raises", "reset"));
    EXPECT_THAT([&] { environment->reset(0); },
                throws_with<RunError>("reset failed: ValueError: the gripper is stuck"));
  }
  {
    const auto environment = make_one(trouble("exits", "step"));
    environment->reset(0);
    EXPECT_THAT([&] { environment->step(kAction); }, throws_with<RunError>("step failed: SystemExit: enough"));
    EXPECT_NO_THROW(environment->reset(0)) << "the others of its process go on";
  }
  EXPECT_THAT(log.text(), AllOf(HasSubstr("Traceback (most recent call last)"), HasSubstr("envs.py"),
                                HasSubstr("gym_tests says hello on stdout")));
}

TEST_F(GymErrors, NameTheArrayThatIsNotAsItsSpaceSays) {
  const auto message_of = [](const char* what) -> std::string {
    const auto environment = make_one(trouble(what, "step"));
    environment->reset(0);
    try {
      environment->step(kAction);
    } catch (const RunError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message_of("wrong_shape"), AllOf(HasSubstr("'agent_pos'"), HasSubstr("(4,)"), HasSubstr("(3,)")));
  EXPECT_THAT(message_of("wrong_type"), AllOf(HasSubstr("'agent_pos'"), HasSubstr("float64")));
  EXPECT_THAT(message_of("missing_key"), HasSubstr("'pixels/top'"));
  EXPECT_THAT(message_of("old_answer"), HasSubstr("terminated, truncated"));
}

TEST_F(GymErrors, SayThatRenderNeedsARenderMode) {
  const auto environment = make_test_environment("Counter-v0");
  environment->reset(0);
  EXPECT_THAT([&] { environment->render(); }, throws_with<RunError>("render_mode=rgb_array"));
}

TEST_F(GymErrors, TellHowAProcessDiedAndItsLastWords) {
  const auto crashing = make_one(trouble("crashes", "step"));
  crashing->reset(0);
  EXPECT_THAT([&] { crashing->step(kAction); },
              throws_with<RunError>("signal 11", "during step", "about to crash", "in crashes"));
  EXPECT_THAT([&] { crashing->reset(0); }, throws_with<RunError>("signal 11")) << "it stays dead";
  EXPECT_TRUE(is_gone(crashing->process_id()));

  EXPECT_THAT([] { make_one(trouble("dies", "make")); },
              throws_with<RunError>("exit code 7", "during make", "last words"));
}

TEST_F(GymErrors, NoticeADeathThatTheChannelDoesNotShow) {
  const auto environment = make_one(trouble("leaves_children", "step"));
  environment->reset(0);
  EXPECT_THAT([&] { environment->step(kAction); }, throws_with<RunError>("signal 9"));
}

TEST_F(GymErrors, EndAProcessThatHangsAndTellWhere) {
  GymOptions options = trouble("hangs", "step");
  options.timeouts.call = std::chrono::milliseconds(300);
  const auto environment = make_one(options);
  environment->reset(0);
  EXPECT_THAT([&] { environment->step(kAction); },
              throws_with<RunError>("step has not returned within 0.3 s", "in hangs"));
  EXPECT_TRUE(is_gone(environment->process_id()));
}

TEST_F(GymErrors, LeaveTheOtherEnvironmentsOfABatchAlone) {
  std::vector<std::unique_ptr<GymEnvironment>> made = make_gym_environments(trouble("dies", "step"), 2, true);
  const int64_t second = made[1]->process_id();
  std::vector<std::unique_ptr<Environment>> environments;
  for (auto& environment : made) environments.push_back(std::move(environment));
  {
    VectorEnv vector(std::move(environments), 2);
    vector.reset();
    dynamic_cast<GymEnvironment&>(vector.environment(0)).set_attribute("where", "nowhere");
    EXPECT_THAT([&] { vector.step(std::vector<double>(4)); }, throws_with<RunError>("environment 1:", "exit code 7"));
    EXPECT_NO_THROW(vector.environment(0).step(kAction));
  }
  EXPECT_TRUE(is_gone(second));
}

TEST_F(GymErrors, LeaveNoProcessBehindThatDoesNotClose) {
  GymOptions options = trouble("hangs", "close");
  options.timeouts.close = std::chrono::milliseconds(100);
  auto environment = make_one(options);
  const int64_t process = environment->process_id();
  environment.reset();
  EXPECT_TRUE(is_gone(process));
}

#ifdef __linux__
// Runs `work` in a child, which tells the worker's id, and kills the child when it has. The worker then becomes ours.
// Returns how the worker ended.
template <typename Work>
int how_the_worker_ends_after_a_kill(const GymOptions& options, const Work& work) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto environment = make_one(options);
    environment->reset(0);
    const auto worker = static_cast<pid_t>(environment->process_id());
    if (::write(ends[1], &worker, sizeof worker) != sizeof worker) ::_exit(1);
    work(*environment);
    ::_exit(1);
  }
  pid_t worker = -1;
  EXPECT_EQ(::read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  int status = 0;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(::waitpid(worker, &status, 0), worker);  // hangs when the worker stays
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  return status;
}

TEST_F(GymErrors, LeaveNoProcessBehindWhenTheProgramIsKilled) {
  const auto is_over = [](int status) {
    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  };
  EXPECT_TRUE(
      is_over(how_the_worker_ends_after_a_kill(test_options("Counter-v0"), [](GymEnvironment&) { ::pause(); })));
  EXPECT_TRUE(is_over(how_the_worker_ends_after_a_kill(
      trouble("hangs", "step"), [](GymEnvironment& environment) { environment.step(kAction); })));
}
#endif

}  // namespace
}  // namespace lerobot::env
