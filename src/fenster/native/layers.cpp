// A step of all decoder layers for many hypotheses, and what surrounds sub-layers elsewhere.
//
// Hypotheses do not see each other, so each thread takes some of them through all layers. Results are those of the
// single operations, to the bit. Plain C functions, called through ctypes.

#include <atomic>

#include "attention.h"
#include "int8_product.h"
#include "norm.h"

namespace {

constexpr double kThreadWork = 200000;  // numbers that are worth a thread of their own
constexpr long kTogether = 4;           // hypotheses that products take together, so that no thread gets fewer

struct Layer {
  Matrix qkv, out, cross_q, cross_out, up, down;
  Norm after_attention, after_cross, after_ffn;
  const float* table;  // relative vectors of self-attention, or null
};

struct Step {
  const Slots *own, *source;
  const int64_t* new_slots;  // [hypotheses] where keys and values of self-attention go
  long hypotheses, width, heads;
  Kernel run;
  Attend attend;
};

// One thread's room.
struct Room {
  std::vector<float> wide, narrow;
  Seen seen;
};

bool product(const Step& step, const Matrix& matrix, const float* x, long rows, std::vector<float>& y) {
  y.resize(static_cast<size_t>(rows * matrix.columns));
  Job job;
  if (!prepare(x, rows, matrix, true, y.data(), job)) return false;
  compute(step.run, job, 0, blocks_of(matrix));
  return true;
}

void attend(const Step& step, const Slots& view, const float* kv, const float* table, const float* q, long q_stride,
            long begin, long end, Room& room) {
  const long width = step.width;
  room.narrow.resize(static_cast<size_t>((end - begin) * width));
  for (long n = begin; n < end; ++n) {
    room.seen.clear();
    collect(view, n, step.hypotheses, width, kv, table, room.seen);
    attend_to(step.attend, room.seen, q + (n - begin) * q_stride, step.heads, width / step.heads,
              &room.narrow[(n - begin) * width]);
  }
}

// x [rows, width] becomes norm(x + y).
void residual(const Step& step, const Norm& norm, const std::vector<float>& y, long rows, float* x) {
  for (long row = 0; row < rows * step.width; row += step.width)
    add_and_norm(x + row, &y[row], step.width, norm, x + row);
}

// Hypotheses [begin, end); `x` is that of the first.
bool layer_step(const Step& step, const Layer& layer, float* own_kv, const float* source_kv, long begin, long end,
                float* x, Room& room) {
  const long rows = end - begin, width = step.width;
  if (!product(step, layer.qkv, x, rows, room.wide)) return false;
  for (long n = 0; n < rows; ++n) {
    const float* kv = &room.wide[n * 3 * width + width];
    std::copy(kv, kv + 2 * width, own_kv + step.new_slots[begin + n] * 2 * width);
  }
  attend(step, *step.own, own_kv, layer.table, room.wide.data(), 3 * width, begin, end, room);
  if (!product(step, layer.out, room.narrow.data(), rows, room.wide)) return false;
  residual(step, layer.after_attention, room.wide, rows, x);
  if (!product(step, layer.cross_q, x, rows, room.wide)) return false;
  attend(step, *step.source, source_kv, nullptr, room.wide.data(), width, begin, end, room);
  if (!product(step, layer.cross_out, room.narrow.data(), rows, room.wide)) return false;
  residual(step, layer.after_cross, room.wide, rows, x);
  if (!product(step, layer.up, x, rows, room.wide)) return false;
  if (!product(step, layer.down, room.wide.data(), rows, room.narrow)) return false;
  residual(step, layer.after_ffn, room.narrow, rows, x);
  return true;
}

}  // namespace

// out [rows, width] = norm(x + y).
FENSTER_EXPORT void fenster_residual_norm(const float* x, const float* y, const Norm* norm, int64_t rows, int64_t width,
                                          float* out, int threads) {
  in_parts(rows, threads, static_cast<double>(rows * width), kThreadWork, [&](long begin, long end) {
    for (long row = begin; row < end; ++row)
      add_and_norm(x + row * width, y + row * width, width, *norm, out + row * width);
  });
}

// One token for each hypothesis: x [hypotheses, width] through `count` layers, in place. Each layer has slots of its own,
// of self-attention and of the source. Returns 0, or 1 if there are NaN or infinity.
FENSTER_EXPORT int fenster_decoder_step(const Layer* layers, int64_t count, float* const* own_kv, const Slots* own,
                                        const int64_t* new_slots, const float* const* source_kv, const Slots* source,
                                        float* x, int64_t hypotheses, int64_t width, int64_t heads, int threads) {
  const Step step{own, source, new_slots, static_cast<long>(hypotheses), static_cast<long>(width),
                  static_cast<long>(heads), kernel(0), attend_for(width / heads, false)};
  std::atomic<bool> finite{true};
  const long shares = up(step.hypotheses, kTogether) / kTogether;
  in_parts(shares, threads, static_cast<double>(shares), 1.0, [&](long first, long last) {
    static thread_local Room room;
    const long begin = first * kTogether, end = std::min(step.hypotheses, last * kTogether);
    for (long n = 0; n < count; ++n)
      if (!layer_step(step, layers[n], own_kv[n], source_kv[n], begin, end, x + begin * width, room)) {
        finite = false;
        return;
      }
  });
  return finite ? 0 : 1;
}
