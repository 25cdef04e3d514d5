# Finds LibTorch without find_package(Torch), which insists on a CUDA toolkit when LibTorch was built with CUDA.
#
# Looked at, in this order; the first that holds lib/libtorch_cpu wins and is never replaced:
#   LIBTORCH_ROOT (CMake variable, then environment), CMAKE_PREFIX_PATH, the torch of the active Python,
#   and what `./run` fetched into build/deps.
#
# Defines
#   LibTorch::LibTorch   imported target: headers, libtorch_cpu and libc10 (backends are opened at run time)
#   LibTorch::fmt        fmt, header only: the copy inside LibTorch, whose own headers use it (two versions of fmt in one
#                        program do not compile together); a system fmt where LibTorch carries none
#   LibTorch_VERSION     e.g. 2.11.0+cu130
#   LibTorch_LIBRARY_DIR folder of the libraries
set(_libtorch_roots "")
if(LIBTORCH_ROOT)
  list(APPEND _libtorch_roots "${LIBTORCH_ROOT}")
elseif(DEFINED ENV{LIBTORCH_ROOT})
  list(APPEND _libtorch_roots "$ENV{LIBTORCH_ROOT}")
else()
  list(APPEND _libtorch_roots ${CMAKE_PREFIX_PATH})
  if(NOT LibTorch_SKIP_PYTHON)
    execute_process(
      COMMAND python3 -c "import importlib.util, os; s = importlib.util.find_spec('torch'); print(os.path.dirname(s.origin) if s else '')"
      OUTPUT_VARIABLE _libtorch_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(_libtorch_python)
      list(APPEND _libtorch_roots "${_libtorch_python}")
    endif()
  endif()
  list(APPEND _libtorch_roots "${CMAKE_CURRENT_LIST_DIR}/../build/deps/python/torch")
endif()

find_path(LibTorch_ROOT_DIR NAMES include/torch/csrc/api/include/torch/torch.h
  PATHS ${_libtorch_roots} PATH_SUFFIXES . libtorch torch NO_DEFAULT_PATH NO_CACHE)
if(LibTorch_ROOT_DIR)
  get_filename_component(LibTorch_ROOT_DIR "${LibTorch_ROOT_DIR}" REALPATH)
  set(LibTorch_LIBRARY_DIR "${LibTorch_ROOT_DIR}/lib")
  find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS "${LibTorch_LIBRARY_DIR}" NO_DEFAULT_PATH NO_CACHE)
  find_library(LibTorch_C10_LIBRARY c10 PATHS "${LibTorch_LIBRARY_DIR}" NO_DEFAULT_PATH NO_CACHE)
  if(EXISTS "${LibTorch_ROOT_DIR}/version.py")  # a wheel
    file(STRINGS "${LibTorch_ROOT_DIR}/version.py" _libtorch_version_line REGEX "^__version__" LIMIT_COUNT 1)
  elseif(EXISTS "${LibTorch_ROOT_DIR}/build-version")  # a LibTorch archive
    file(STRINGS "${LibTorch_ROOT_DIR}/build-version" _libtorch_version_line LIMIT_COUNT 1)
  endif()
  if(_libtorch_version_line MATCHES "([0-9]+\\.[0-9]+\\.[0-9]+[^' ]*)")
    set(LibTorch_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_ROOT_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "Point LIBTORCH_ROOT at a LibTorch (the folder that holds include/ and lib/), or let ./run fetch one.")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION "${LibTorch_C10_LIBRARY}")
  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    IMPORTED_LOCATION "${LibTorch_CPU_LIBRARY}"
    INTERFACE_LINK_LIBRARIES LibTorch::c10
    INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_ROOT_DIR}/include;${LibTorch_ROOT_DIR}/include/torch/csrc/api/include")
  add_library(LibTorch::fmt INTERFACE IMPORTED)
  if(EXISTS "${LibTorch_ROOT_DIR}/include/fmt/format.h")
    set_target_properties(LibTorch::fmt PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_ROOT_DIR}/include" INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
  else()
    find_package(fmt REQUIRED)
    set_target_properties(LibTorch::fmt PROPERTIES INTERFACE_LINK_LIBRARIES fmt::fmt-header-only)
  endif()
  # What libtorch_cpu needs at load (CUDA builds: libcudart, libcupti) is found through its own run path; the linker
  # is told not to chase it.
  if(UNIX AND NOT APPLE)
    set_property(TARGET LibTorch::LibTorch PROPERTY INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
  endif()
endif()
unset(_libtorch_roots)
unset(_libtorch_python)
unset(_libtorch_version_line)
