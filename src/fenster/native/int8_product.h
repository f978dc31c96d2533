// Rows times a matrix of int8 weights, with the rows quantised one by one (int8_rows.h).
//
// VNNI multiplies numbers without a sign by numbers with one, four at a time. Processors without it add products up in
// 16 bits, which two of 127 * 127 never overflow: there the sign of x is moved to the weights. Sums are exact integers;
// the products of a row's few large numbers are added in float32, in order: all instruction sets, and all numbers of
// threads, give the same bits.

#pragma once

#include "int8_avx2.h"
#include "int8_avx512.h"
#include "int8_neon.h"

namespace {

void sums_plain(const QuantizedRows& x, long row, const int8_t* weights, int32_t (*sums)[kBlock]) {
  const uint8_t* a = &x.bytes[row * x.depth];
  std::fill(sums[0], sums[0] + kBlock, 0);
  for (long k = 0; k < x.depth; k += 4, weights += 4 * kWidth)
    for (long j = 0; j < kBlock; ++j)
      for (long i = 0; i < 4; ++i) sums[0][j] += (a[k + i] - x.zero) * weights[j * 4 + i];
}

void int8_plain(const Int8Job& job, long panel) {
  static constexpr Sums one[] = {sums_plain};
  panel_of_sums(job, panel, one);
}

using Int8Kernel = void (*)(const Int8Job&, long);

inline Int8Kernel int8_kernel() {
  switch (instructions()) {
#ifdef FENSTER_X86
    case Instructions::avx512: return int8_avx512;
#ifdef FENSTER_AVX_VNNI
    case Instructions::avx_vnni: return int8_avx_vnni;
#endif
    case Instructions::avx2: return int8_avx2;
#endif
#ifdef FENSTER_NEON
    case Instructions::neon: return int8_neon;
#endif
    default: return int8_plain;
  }
}

}  // namespace
