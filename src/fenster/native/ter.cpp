// Translation edit rate of one segment, step by step as sacrebleu's lib_ter computes it (which follows Tercom), since
// that takes most of an evaluation's time in Python. Words are numbers here. tests/evaluate/test_surface.py holds the
// two against each other.

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "common.h"

namespace {

constexpr int64_t kInfinity = 10'000'000'000'000'000;
constexpr int kMaxShiftSize = 10, kMaxShiftDistance = 50, kBeamWidth = 25, kMaxShiftCandidates = 1000;
using Words = std::vector<int32_t>;

struct Cell {
  int64_t cost;
  char operation;  // insertion, deletion, substitution, ' ' for none, x for unknown
};

// Distance of the hypothesis from the reference within a beam around the diagonal, and the operations that lead there.
class EditDistance {
 public:
  explicit EditDistance(const Words& reference) : reference_(reference) {}

  // -1 if the beam cuts every way off.
  int64_t distance(const Words& hypothesis) {
    const long rows = hypothesis.size(), columns = reference_.size();
    cells_.assign((rows + 1) * (columns + 1), Cell{kInfinity, 'x'});
    for (long j = 0; j <= columns; ++j) at(0, j) = {j, 'i'};
    const double ratio = rows ? static_cast<double>(columns) / static_cast<double>(rows) : 1.0;
    const long beam = kBeamWidth < ratio / 2 ? static_cast<long>(std::ceil(ratio / 2 + kBeamWidth)) : kBeamWidth;
    for (long i = 1; i <= rows; ++i) {
      const long diagonal = static_cast<long>(std::floor(static_cast<double>(i) * ratio));
      const long first = std::max(0L, diagonal - beam);
      const long last = i == rows ? columns + 1 : std::min(columns + 1, diagonal + beam);
      for (long j = first; j < last; ++j) {
        if (j == 0) {
          at(i, 0) = {at(i - 1, 0).cost + 1, 'd'};
          continue;
        }
        const bool same = hypothesis[i - 1] == reference_[j - 1];
        Cell best = at(i, j);
        const Cell ways[] = {{at(i - 1, j - 1).cost + (same ? 0 : 1), same ? ' ' : 's'},
                             {at(i - 1, j).cost + 1, 'd'},
                             {at(i, j - 1).cost + 1, 'i'}};
        for (const Cell& way : ways)
          if (best.cost > way.cost) best = way;
        at(i, j) = best;
      }
    }
    return trace(rows, columns) ? at(rows, columns).cost : -1;
  }

  // The last call's operations, from the first word to the last.
  const std::vector<char>& operations() const { return operations_; }

 private:
  Cell& at(long i, long j) { return cells_[i * (static_cast<long>(reference_.size()) + 1) + j]; }

  bool trace(long i, long j) {
    operations_.clear();
    while (i > 0 || j > 0) {
      const char operation = at(i, j).operation;
      if (operation == 'x') return false;
      operations_.push_back(operation);
      if (operation != 'i') --i;
      if (operation != 'd') --j;
    }
    std::reverse(operations_.begin(), operations_.end());
    return true;
  }

  const Words& reference_;
  std::vector<Cell> cells_;
  std::vector<char> operations_;
};

// Which hypothesis word each reference word belongs to (-1: before the first), and which words of both are wrong.
struct Alignment {
  std::vector<long> of_reference;
  std::vector<char> wrong_reference, wrong_hypothesis;

  explicit Alignment(const std::vector<char>& operations) {
    long hypothesis = -1;
    for (const char operation : operations) {
      if (operation != 'i') {
        ++hypothesis;
        wrong_hypothesis.push_back(operation != ' ');
      }
      if (operation != 'd') {
        of_reference.push_back(hypothesis);
        wrong_reference.push_back(operation != ' ');
      }
    }
  }
};

bool any(const std::vector<char>& flags, long start, long length) {
  for (long n = start; n < start + length && n < static_cast<long>(flags.size()); ++n)
    if (flags[n]) return true;
  return false;
}

Words shifted(const Words& words, long start, long length, long target) {
  Words made;
  made.reserve(words.size());
  const auto add = [&](long from, long to) {
    to = std::min(to, static_cast<long>(words.size()));
    if (from < to) made.insert(made.end(), words.begin() + from, words.begin() + to);
  };
  const long size = words.size();
  if (target < start) {
    add(0, target), add(start, start + length), add(target, start), add(start + length, size);
  } else if (target > start + length) {
    add(0, start), add(start + length, target), add(start, start + length), add(target, size);
  } else {
    add(0, start), add(start + length, length + target), add(start, start + length), add(length + target, size);
  }
  return made;
}

struct Shift {
  int64_t gain = 0;
  Words words;
};

// The shift that shortens the distance most; a gain of 0 if there is none. False if a distance is unknown.
bool best_shift(const Words& hypothesis, const Words& reference, EditDistance& edits, long& checked, Shift& best) {
  const int64_t before = edits.distance(hypothesis);
  if (before < 0) return false;
  const Alignment alignment(edits.operations());
  const long hypotheses = hypothesis.size(), references = reference.size();
  using Rank = std::tuple<int64_t, long, long, long>;  // gain, longest, earliest, earliest target
  Rank rank;
  bool found = false;
  for (long h = 0; h < hypotheses; ++h) {
    for (long r = 0; r < references; ++r) {
      if (std::abs(r - h) > kMaxShiftDistance) continue;
      for (long length = 1; length <= kMaxShiftSize && h + length <= hypotheses && r + length <= references; ++length) {
        if (hypothesis[h + length - 1] != reference[r + length - 1]) break;
        if (!any(alignment.wrong_hypothesis, h, length) || !any(alignment.wrong_reference, r, length)) continue;
        const long there = alignment.of_reference[r];
        if (h <= there && there < h + length) continue;
        long previous = -1;
        for (long offset = -1; offset < length; ++offset) {
          long target = 0;
          if (r + offset != -1) {
            if (r + offset >= references) break;
            target = alignment.of_reference[r + offset] + 1;
          }
          if (target == previous) continue;
          previous = target;
          Words candidate = shifted(hypothesis, h, length, target);
          const int64_t after = edits.distance(candidate);
          if (after < 0) return false;
          const Rank its{before - after, length, -h, -target};
          ++checked;
          if (!found || its > rank) {
            found = true;
            rank = its;
            best = {before - after, std::move(candidate)};
          }
        }
        if (checked >= kMaxShiftCandidates) return true;
      }
    }
  }
  return true;
}

}  // namespace

// Edits of a hypothesis against one reference: shifts, insertions, deletions and substitutions. -1 where sacrebleu stops
// with an error.
FENSTER_EXPORT int64_t fenster_ter(const int32_t* hypothesis, int64_t hypotheses, const int32_t* reference,
                                   int64_t references) {
  if (references == 0) return hypotheses;
  Words words(hypothesis, hypothesis + hypotheses);
  const Words target(reference, reference + references);
  EditDistance edits(target);
  int64_t shifts = 0;
  long checked = 0;
  while (true) {
    Shift best;
    if (!best_shift(words, target, edits, checked, best)) return -1;
    if (checked >= kMaxShiftCandidates || best.gain <= 0) break;
    ++shifts;
    words = std::move(best.words);
  }
  const int64_t rest = edits.distance(words);
  return rest < 0 ? -1 : shifts + rest;
}
