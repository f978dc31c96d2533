// int8 products with the dot products of ARM.

#pragma once

#include "int8_job.h"

#ifdef FENSTER_NEON

#include <arm_neon.h>

namespace {

template <int R>
FENSTER_NEON void sums_neon(const QuantizedRows& x, long row, const int8_t* weights, int32_t (*sums)[kBlock]) {
  int32x4_t sum[R][4];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < 4; ++n) sum[r][n] = vdupq_n_s32(0);
  const uint8_t* a = &x.bytes[row * x.depth];
  const uint32_t sign = x.zero ? 0x80808080u : 0;  // 128 less, where that was added
  for (long k = 0; k < x.depth; k += 4, weights += 4 * kWidth) {
    int8x16_t w[4];
    for (int n = 0; n < 4; ++n) w[n] = vld1q_s8(weights + 16 * n);
    for (int r = 0; r < R; ++r) {
      uint32_t four;
      std::memcpy(&four, a + r * x.depth + k, 4);
      const int8x16_t values = vreinterpretq_s8_u32(vdupq_n_u32(four ^ sign));
      for (int n = 0; n < 4; ++n) sum[r][n] = vdotq_s32(sum[r][n], w[n], values);
    }
  }
  FENSTER_UNROLL
  for (int r = 0; r < R; ++r)
    FENSTER_UNROLL
    for (int n = 0; n < 4; ++n) vst1q_s32(sums[r] + 4 * n, sum[r][n]);
}

void int8_neon(const Int8Job& job, long panel) {
  static constexpr Sums all[] = {sums_neon<1>, sums_neon<2>, sums_neon<3>, sums_neon<4>, sums_neon<5>, sums_neon<6>};
  panel_of_sums(job, panel, all);
}

}  // namespace

#endif
