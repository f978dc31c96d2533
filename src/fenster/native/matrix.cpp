// Matrices for `model/compiled` and for tests: packing, and products.

#include <cstring>

#include "product.h"
#include "status.h"

FENSTER_EXPORT int64_t fenster_packed_bytes(int64_t columns, int64_t depth, int is_int8) {
  return up(columns, kWidth) * (is_int8 ? up(depth, 4) : depth * static_cast<int64_t>(sizeof(float)));
}

// Pack weights [columns, depth], int8 or float32; `sums` [columns] are those of int8 columns.
FENSTER_EXPORT void fenster_pack(const void* weights, int64_t columns, int64_t depth, int is_int8, void* packed,
                                 int32_t* sums) {
  const Matrix matrix{packed, sums, nullptr, nullptr, columns, depth, is_int8, 0};
  std::memset(packed, 0, static_cast<size_t>(fenster_packed_bytes(columns, depth, is_int8)));
  for (long column = 0; column < columns; ++column) {
    if (!is_int8) {
      float* out = static_cast<float*>(packed) + float_place(matrix, column, 0);
      const float* from = static_cast<const float*>(weights) + column * depth;
      for (long k = 0; k < depth; ++k) out[k * kWidth] = from[k];
      continue;
    }
    int8_t* out = static_cast<int8_t*>(packed) + int8_place(matrix, column, 0);
    const int8_t* from = static_cast<const int8_t*>(weights) + column * depth;
    int32_t sum = 0;
    for (long k = 0; k < depth; ++k) {
      out[k / 4 * 4 * kWidth + k % 4] = from[k];
      sum += from[k];
    }
    sums[column] = sum;
  }
}

// y [rows, columns] = x [rows, depth] times the matrix, plus its bias. Returns a status: x may hold NaN or infinity.
FENSTER_EXPORT int fenster_multiply(const Matrix* matrix, const float* x, int64_t rows, float* y, int threads) {
  return guarded([&] {
    multiply(*matrix, x, rows, y, threads);
    return kDone;
  });
}

// Which instructions to use: 0 the best that the processor has, otherwise a number of `Instructions`. Returns those in use
// now, 0 if the processor has none of that kind.
FENSTER_EXPORT int fenster_use_instructions(int kind) {
  const Instructions wanted = kind ? static_cast<Instructions>(kind) : best_instructions();
  if (!has(wanted)) return 0;
  instructions() = wanted;
  return static_cast<int>(instructions().load());
}
