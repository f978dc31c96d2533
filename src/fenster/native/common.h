// What the files here share: how functions are exported, which instructions are used, and work that is split among
// threads.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <initializer_list>

#include "pool.h"

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define FENSTER_X86 1
#include <cpuid.h>
#include <immintrin.h>
#define FENSTER_AVX2 __attribute__((target("avx2,fma")))
#if (defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && __GNUC__ >= 11)
#define FENSTER_AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#endif
#define FENSTER_AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512vnni")))
#endif

// Of loops over what is to stay in registers.
#if defined(__clang__)
#define FENSTER_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define FENSTER_UNROLL _Pragma("GCC unroll 16")
#else
#define FENSTER_UNROLL
#endif

// Dot products of ARM: always there (Apple), or asked for when the program runs.
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define FENSTER_NEON
#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#include <sys/auxv.h>
#define FENSTER_NEON __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

#if defined(_WIN32)
#define FENSTER_EXPORT extern "C" __declspec(dllexport)
#else
#define FENSTER_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// A number is NaN or infinite where it must not be.
struct NotFinite : std::exception {};

enum class Instructions { plain = 1, avx2 = 2, avx_vnni = 3, avx512 = 4, neon = 5 };

// Whether the processor has them.
inline bool has(Instructions kind) {
  if (kind == Instructions::plain) return true;
#if defined(__ARM_FEATURE_DOTPROD)
  return kind == Instructions::neon;
#elif defined(FENSTER_NEON)
  return kind == Instructions::neon && (getauxval(AT_HWCAP) & 1ul << 20);
#elif defined(FENSTER_X86)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  switch (kind) {
    case Instructions::avx2:
      return true;
    case Instructions::avx_vnni:
#ifdef FENSTER_AVX_VNNI
      return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
#else
      return false;  // a compiler that does not know it
#endif
    case Instructions::avx512:
      return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl");
    default:
      return false;
  }
#else
  return false;
#endif
}

inline Instructions best_instructions() {
  for (const Instructions kind : {Instructions::avx512, Instructions::avx_vnni, Instructions::avx2, Instructions::neon})
    if (has(kind)) return kind;
  return Instructions::plain;
}

// Those to use; tests choose others. Nothing that is computed depends on which kind of vectors it is.
inline std::atomic<Instructions>& instructions() {
  static std::atomic<Instructions> chosen{best_instructions()};
  return chosen;
}

// Call part(begin, end) for shares of [0, count): on at most `threads` threads, each of which has at least
// `least_work` of the `work` to do.
template <typename Part>
void in_parts(long count, int threads, double work, double least_work, const Part& part) {
  const long parts = std::max(1L, std::min({static_cast<long>(threads), count, static_cast<long>(work / least_work)}));
  if (parts == 1) return part(0, count);
  Pool::current().run(parts, [&](long number) { part(count * number / parts, count * (number + 1) / parts); });
}

constexpr long up(long value, long step) { return (value + step - 1) / step * step; }
