// Linear layers with int8 weights (int8_product.h): packing, and products.
//
// Plain C functions, called through ctypes: no Python, no torch, nothing to break when those change.

#include <cstring>

#include "int8_product.h"

namespace {

constexpr double kThreadWork = 10000000;  // products that are worth a thread of their own

}  // namespace

FENSTER_EXPORT int64_t fenster_int8_bytes(int64_t columns, int64_t depth) { return up(columns, kBlock) * up(depth, 4); }

// Pack weights [columns, depth]; `sums` [columns] are those of each column.
FENSTER_EXPORT void fenster_int8_pack(const int8_t* weights, int64_t columns, int64_t depth, int8_t* packed,
                                      int32_t* sums) {
  const long deep = up(depth, 4);
  std::memset(packed, 0, up(columns, kBlock) * deep);
  for (long column = 0; column < columns; ++column) {
    int8_t* out = packed + column / kBlock * kBlock * deep + column % kBlock * 4;
    int32_t sum = 0;
    for (long k = 0; k < depth; ++k) {
      const int8_t value = weights[column * depth + k];
      out[k / 4 * 4 * kBlock + k % 4] = value;
      sum += value;
    }
    sums[column] = sum;
  }
}

// y [rows, columns] = x [rows, depth] times the packed weights, plus a bias that may be null. Returns 0; 1 if x holds
// NaN or infinity, 2 if the processor lacks the `kind` of instructions.
FENSTER_EXPORT int fenster_int8_linear(const float* x, int64_t rows, int64_t depth, const int8_t* packed,
                                       const int32_t* sums, const float* scale, const float* bias, int64_t columns,
                                       float* y, int nonnegative, int threads, int kind) {
  const Kernel run = kernel(kind);
  if (!run) return 2;
  const Matrix matrix{packed, sums, scale, bias, columns, depth, nonnegative};
  Job job;
  if (!prepare(x, rows, matrix, kind != 1, y, job)) return 1;
  const long blocks = blocks_of(matrix), panels = up(blocks, kPanel) / kPanel;
  const double work = static_cast<double>(rows) * static_cast<double>(columns * depth);
  in_parts(panels, threads, work, kThreadWork, [&](long first, long last) {
    compute(run, job, first * kPanel, std::min(blocks, last * kPanel));
  });
  return 0;
}
