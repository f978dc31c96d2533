// The encoder over several sources at once, each as far as it is needed.
//
// With windows the states of its last `needed` tokens depend, layer by layer, on w more tokens before them. What lies
// further back is not computed. Nor is what a search before it in the same document has computed: a state in layer l
// changes only if a token within l * w of it does, so that for the next sentence only the end of the source is new.

#pragma once

#include "network.h"

// Of a document: the tokens of the source encoded last, and those of its states that the next source may need.
struct EncoderMemory {
  struct Level {
    long begin = 0, end = 0;  // positions in the document
    std::vector<float> rows;  // [end - begin, width]
  };
  long begin = 0;             // position of ids[0]
  std::vector<int32_t> ids;
  std::vector<Level> levels;  // states after each layer; of level 0, the embeddings, none
};

struct Source {
  const int32_t* ids;
  const int32_t* starts;     // [sentences + 1] of its sentences
  int64_t tokens, sentences;
  int64_t position;          // of the first token in the document
  int64_t needed;            // tokens at its end whose states are wanted
  EncoderMemory* memory;     // or null
};

namespace {

// Rows of a buffer: those of a sequence's tokens [begin, end), from row `at` on.
struct Span {
  long begin = 0, end = 0, at = 0;
  long row(long token) const { return at + token - begin; }
};

inline long sentence_of(const int32_t* starts, long sentences, long token) {
  return std::upper_bound(starts, starts + sentences + 1, static_cast<int32_t>(token)) - starts - 1;
}

class Encoder {
 public:
  explicit Encoder(Layers& layers) : layers_(layers), network_(layers.network) {}

  // states [rows, width] of the last tokens of each source, and where they are.
  void run(const std::vector<Source>& sources, Floats& states, std::vector<Span>& spans) {
    plans_.clear();
    for (const Source& source : sources) plans_.push_back(plan(source));
    for (size_t n = 0; n < sources.size(); ++n) plans_[n].last_reader = reads_last(sources, n);
    const long levels = network_.encoder_layers;
    reserve(sources);
    embed(sources);
    for (long level = 0; level < levels; ++level) {
      layer(sources, level);
      gather(sources, level + 1);
    }
    for (size_t n = 0; n < sources.size(); ++n)
      if (sources[n].memory) remember(sources[n], plans_[n]);
    layers_.end(network_.encoder_norm, rows_, x_);
    states.swap(x_);
    spans = spans_;
  }

 private:
  // Which tokens of a source are computed after each layer: from `computed[level]` on. The layer above reads those from
  // `read[level]` on; what is missing is in the memory.
  struct Plan {
    std::vector<long> computed, read;
    long same = 0;             // tokens at the beginning that are those of the memory
    bool last_reader = false;  // of the memory: no source behind it has the same
    std::vector<EncoderMemory::Level> kept;
  };

  static bool reads_last(const std::vector<Source>& sources, size_t number) {
    const EncoderMemory* memory = sources[number].memory;
    return memory && !memory->levels.empty() &&
           std::none_of(sources.begin() + number + 1, sources.end(), [&](const Source& one) { return one.memory == memory; });
  }

  long before(long token, long layers) const {
    return network_.window < 0 ? 0 : std::max(0L, token - layers * static_cast<long>(network_.window));
  }

  Plan plan(const Source& source) const {
    Plan made;
    const long levels = network_.encoder_layers, first = source.tokens - source.needed;
    if (source.memory && network_.window >= 0) made.same = same(source);
    fill(made, first, made.same);
    for (long level = 1; made.same && level <= levels; ++level) {
      const EncoderMemory::Level& has = source.memory->levels[level];
      const long begin = source.position + made.read[level], end = source.position + made.computed[level];
      if (begin < end && (begin < has.begin || has.end < end)) made.same = 0;
    }
    if (!made.same) fill(made, first, 0);
    made.kept.resize(levels + 1);
    return made;
  }

  void fill(Plan& plan, long first, long same) const {
    const long levels = network_.encoder_layers, window = network_.window;
    plan.computed.resize(levels + 1);
    plan.read.resize(levels + 1);
    for (long level = 0; level <= levels; ++level) {
      plan.computed[level] = before(first, levels - level);
      if (same && level) plan.computed[level] = std::max(plan.computed[level], same - level * window);
    }
    for (long level = 0; level < levels; ++level) plan.read[level] = before(plan.computed[level + 1], 1);
    plan.read[levels] = first;
  }

  long same(const Source& source) const {
    const EncoderMemory& memory = *source.memory;
    const long offset = source.position - memory.begin, known = static_cast<long>(memory.ids.size());
    if (offset < 0 || memory.levels.empty()) return 0;
    long count = 0;
    while (count < source.tokens && offset + count < known && source.ids[count] == memory.ids[offset + count]) ++count;
    return count;
  }

  // Room for the layer with the most rows. Buffers that grew from layer to layer would leave holes in memory.
  void reserve(const std::vector<Source>& sources) {
    long most_read = 0, most_computed = 0;
    for (long level = 0; level < network_.encoder_layers; ++level) {
      long read = 0, computed = 0;
      for (size_t n = 0; n < sources.size(); ++n) {
        read += static_cast<long>(sources[n].tokens) - plans_[n].read[level];
        computed += static_cast<long>(sources[n].tokens) - plans_[n].computed[level + 1];
      }
      most_read = std::max(most_read, read);
      most_computed = std::max(most_computed, computed);
    }
    make_room(x_, most_read * layers_.width);
    make_room(qkv_, most_read * 3 * layers_.width);
    make_room(new_, most_computed * layers_.width);
  }

  void embed(const std::vector<Source>& sources) {
    place(sources, 0);
    make_room(x_, rows_ * layers_.width);
    for (size_t n = 0; n < sources.size(); ++n)
      for (long token = spans_[n].begin; token < spans_[n].end; ++token)
        layers_.embed(sources[n].ids[token], sources[n].position + token, &x_[spans_[n].row(token) * layers_.width]);
  }

  // Where the rows that the layer above `level` reads are.
  void place(const std::vector<Source>& sources, long level) {
    rows_ = 0;
    spans_.resize(sources.size());
    for (size_t n = 0; n < sources.size(); ++n) {
      spans_[n] = {plans_[n].read[level], static_cast<long>(sources[n].tokens), rows_};
      rows_ += spans_[n].end - spans_[n].begin;
    }
  }

  // From x_ in spans_, which is what the layer above `level` reads, to new_ in made_, what it computes.
  void layer(const std::vector<Source>& sources, long level) {
    const EncoderLayer& weights = network_.encoder[level];
    const long width = layers_.width;
    const float* read = layers_.input(weights.attention_norm, x_.data(), rows_);
    multiply(weights.qkv, read, rows_, qkv_, layers_.threads);
    made_.resize(sources.size());
    owners_.clear();
    for (size_t n = 0; n < sources.size(); ++n) {
      made_[n] = {plans_[n].computed[level + 1], static_cast<long>(sources[n].tokens), static_cast<long>(owners_.size())};
      owners_.insert(owners_.end(), made_[n].end - made_[n].begin, n);
    }
    const long rows = static_cast<long>(owners_.size());
    make_room(new_, rows * width);
    for (size_t n = 0; n < sources.size(); ++n)
      std::copy(&x_[spans_[n].row(made_[n].begin) * width], &x_[0] + spans_[n].row(made_[n].end) * width,
                &new_[0] + made_[n].at * width);
    for (long first = 0; first < rows; first += kChunk) {  // what is between the sub-layers takes room
      const long count = std::min(kChunk, rows - first);
      float* to = &new_[first * width];
      attend(sources, weights, first, count);
      multiply(weights.out, context_.data(), count, y_, layers_.threads);
      layers_.add(weights.attention_norm, y_, count, to);
      layers_.feed_forward(weights.up, weights.down, weights.ffn_norm, count, to);
    }
  }

  // Attention of `count` rows of new_ from `first_row` on, into context_.
  void attend(const std::vector<Source>& sources, const EncoderLayer& weights, long first_row, long count) {
    const long width = layers_.width, branches = network_.branches;
    const long keys = network_.window < 0 ? rows_ / static_cast<long>(sources.size()) : 2 * network_.window + 1;
    layers_.attention(count, branches, keys, context_, [&](long part_row, long branch, Seen& seen) {
      const long row = first_row + part_row;
      const size_t n = owners_[row];
      const Source& source = sources[n];
      const long token = made_[n].begin + row - made_[n].at;
      long first = before(token, 1), end = source.tokens;
      if (network_.window >= 0) end = std::min(end, token + static_cast<long>(network_.window) + 1);
      if (branch) {
        const long sentence = sentence_of(source.starts, source.sentences, token);
        first = std::max(first, static_cast<long>(source.starts[sentence]));
        end = std::min(end, static_cast<long>(source.starts[sentence + 1]));
      }
      for (long key = first; key < end; ++key) {
        const float* at = &qkv_[spans_[n].row(key) * 3 * width + width];
        seen.add(at, at + width);
        if (weights.table) seen.relative.push_back(layers_.relative(weights.table, token - key));
      }
      return static_cast<const float*>(&qkv_[spans_[n].row(token) * 3 * width]);
    });
  }

  // What the layer above `level` reads: rows of the memory, then those that were computed.
  void gather(const std::vector<Source>& sources, long level) {
    const long width = layers_.width;
    for (size_t n = 0; n < sources.size(); ++n)
      if (sources[n].memory && network_.window >= 0) keep(sources[n], plans_[n], level, &new_[made_[n].at * width]);
    place(sources, level);
    make_room(x_, rows_ * width);
    for (size_t n = 0; n < sources.size(); ++n) {
      float* to = &x_[spans_[n].at * width];
      const long computed = plans_[n].computed[level], remembered = std::max(0L, computed - spans_[n].begin);
      if (remembered) {
        const EncoderMemory::Level& has = sources[n].memory->levels[level];
        const float* from = &has.rows[(sources[n].position + spans_[n].begin - has.begin) * width];
        to = std::copy(from, from + remembered * width, to);
      }
      const long begin = std::max(computed, spans_[n].begin);
      std::copy(&new_[0] + made_[n].row(begin) * width, &new_[0] + made_[n].row(made_[n].end) * width, to);
      if (plans_[n].last_reader) std::exchange(sources[n].memory->levels[level], {});  // what follows it is in `kept`
    }
  }

  // States that stay when the end symbol changes or the last sentence does, as far back as the layers above will read
  // them. `computed` are those of this time.
  void keep(const Source& source, Plan& plan, long level, const float* computed) const {
    const long width = layers_.width, window = network_.window;
    const long last = source.starts[source.sentences - 1];
    const long end = source.tokens - 1 - level * window;
    long begin = std::max(0L, last - (level + 2) * window), from = plan.computed[level];
    EncoderMemory::Level& kept = plan.kept[level];
    const EncoderMemory::Level* has = nullptr;
    if (plan.same && from == plan.same - level * window) has = &source.memory->levels[level];
    if (has && has->begin < source.position + from && source.position + from <= has->end)
      begin = std::max(begin, has->begin - static_cast<long>(source.position));
    else
      begin = std::max(begin, from);
    if (begin >= end) return;
    kept.begin = source.position + begin;
    kept.end = source.position + end;
    const long old_end = std::min(from, end);
    if (begin < old_end) {
      const float* old = &has->rows[(kept.begin - has->begin) * width];
      kept.rows.insert(kept.rows.end(), old, old + (old_end - begin) * width);
    }
    const long new_begin = std::max(begin, from);
    if (new_begin < end)
      kept.rows.insert(kept.rows.end(), computed + (new_begin - from) * width, computed + (end - from) * width);
  }

  void remember(const Source& source, Plan& plan) const {
    std::vector<int32_t> ids(source.ids, source.ids + source.tokens);  // may throw: then the memory is as it was
    source.memory->begin = source.position;
    source.memory->ids = std::move(ids);
    source.memory->levels = std::move(plan.kept);
  }

  Layers& layers_;
  const Network& network_;
  std::vector<Plan> plans_;
  std::vector<Span> spans_, made_;
  std::vector<size_t> owners_;  // of the rows in new_
  Floats x_, new_, qkv_, context_, y_;
  long rows_ = 0;  // in x_
};

}  // namespace
