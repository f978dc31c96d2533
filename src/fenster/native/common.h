// What the files here share: how functions are exported, and work that is split among threads.

#pragma once

#include <algorithm>

#include "pool.h"

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define FENSTER_X86 1
#include <immintrin.h>
#endif

#if defined(_WIN32)
#define FENSTER_EXPORT extern "C" __declspec(dllexport)
#else
#define FENSTER_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// Call part(begin, end) for shares of [0, count): on at most `threads` threads, each of which has at least
// `least_work` of the `work` to do.
template <typename Part>
void in_parts(long count, int threads, double work, double least_work, const Part& part) {
  const long parts = std::max(1L, std::min({static_cast<long>(threads), count, static_cast<long>(work / least_work)}));
  if (parts == 1) return part(0, count);
  Pool::of_process().run(parts, [&](long number) { part(count * number / parts, count * (number + 1) / parts); });
}
