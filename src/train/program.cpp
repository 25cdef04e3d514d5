#include "lerobot/train/program.hpp"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <string>
#include <system_error>

#include "lerobot/core/error.hpp"
#include "lerobot/core/signals.hpp"

namespace lerobot::train {
namespace {

// Not fmt::print, which throws when nobody reads the output any more (a closed terminal, a pipe's dead end).
void say(const std::string& line) {
  std::fputs(line.c_str(), stderr);
}

int fail(std::string_view name, std::string_view message, int exit_code) {
  say(fmt::format("{}: error: {}\n", name, message));
  return exit_code;
}

}  // namespace

int run_program(std::string_view name, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const signals::Stopped& stopped) {
    say(fmt::format("{}: {}\n", name, stopped.what()));
    return signals::stop_exit_code(stopped.signal());
  } catch (const UsageError& error) {
    return fail(name, error.what(), 2);
  } catch (const c10::OutOfMemoryError& error) {
    return fail(
        name,
        fmt::format("out of device memory; a smaller --batch_size needs less. {}", error.what_without_backtrace()), 1);
  } catch (const c10::Error& error) {
    return fail(name, error.what_without_backtrace(), 1);
  } catch (const std::bad_alloc&) {
    return fail(name, "out of memory; a smaller batch, fewer --num_workers or a smaller policy need less", 1);
  } catch (const std::system_error& error) {
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    return fail(name,
                is_thread ? fmt::format("the system does not start another thread ({}); raise the limit (ulimit -u, a "
                                        "container's pids limit)",
                                        error.what())
                          : error.what(),
                1);
  } catch (const std::exception& error) {
    return fail(name, error.what(), 1);
  }
}

}  // namespace lerobot::train
