// What the files that use LibTorch include anyway. Not torch/torch.h, which costs every file four seconds to load even
// precompiled, twice as much as this. A file that needs more of torch includes that part.
#pragma once

#include "pch_light.hpp"

#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
