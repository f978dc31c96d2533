// What functions that Python calls return, and how exceptions become that.

#pragma once

#include <new>
#include <stdexcept>

#include "common.h"

namespace {

enum Status : int { kDone = 0, kMore = 1, kNotFinite = 2, kNoMemory = 3 };

template <typename Do>
int guarded(const Do& work) {
  try {
    return work();
  } catch (const NotFinite&) {
    return kNotFinite;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::length_error&) {
    return kNoMemory;
  }
}

}  // namespace
