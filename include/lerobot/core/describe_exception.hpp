// Any exception in words.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

namespace lerobot {

// For a message: LibTorch's errors without their backtrace.
inline std::string describe(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown error";
  }
}

}  // namespace lerobot
