// The parts of torch that tests use: tensors, factories, gradient guards and seeds. All of it is precompiled.
#pragma once

#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/types.h>
#include <torch/utils.h>
