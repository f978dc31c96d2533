// Threads that wait for work asleep. Starting threads for every product costs as much as a small product.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <unistd.h>
#endif

class Pool {
 public:
  // The pool of this process. It is never destroyed: its threads end with the process. A process that was forked has none
  // of its parent's threads, and makes a pool of its own.
  static Pool& of_process() {
    static std::mutex making;
    static Pool* pool = nullptr;
    static long owner = 0;
    const std::lock_guard<std::mutex> hold(making);
    if (!pool || owner != process()) {
      pool = new Pool;
      owner = process();
    }
    return *pool;
  }

  // Call work(0) … work(parts - 1), one of them here. Where another thread of the program uses the pool all are called here.
  void run(long parts, const std::function<void(long)>& work) {
    const std::unique_lock<std::mutex> alone(turn_, std::try_to_lock);
    if (!alone.owns_lock()) {
      for (long number = 0; number < parts; ++number) work(number);
      return;
    }
    {
      const std::lock_guard<std::mutex> hold(state_);
      try {
        for (; size_ < parts - 1; ++size_) std::thread(&Pool::serve, this).detach();
      } catch (const std::system_error&) {  // no more threads to be had: those that are there do the work
      }
      work_ = &work;
      parts_ = parts;
      next_ = 0;
      ++job_;
    }
    for (long n = 1; n < parts; ++n) wake_.notify_one();
    take(work, parts);
    std::unique_lock<std::mutex> hold(state_);
    work_ = nullptr;  // whoever wakes up now is too late
    finished_.wait(hold, [&] { return busy_ == 0; });
  }

 private:
  static long process() {
#if defined(_WIN32)
    return 1;
#else
    return static_cast<long>(getpid());
#endif
  }

  void take(const std::function<void(long)>& work, long parts) {
    for (long number = next_++; number < parts; number = next_++) work(number);
  }

  void serve() {
    unsigned long seen = 0;
    std::unique_lock<std::mutex> hold(state_);
    for (;;) {
      wake_.wait(hold, [&] { return work_ && job_ != seen; });
      seen = job_;
      const std::function<void(long)>& work = *work_;
      const long parts = parts_;
      ++busy_;
      hold.unlock();
      take(work, parts);
      hold.lock();
      if (--busy_ == 0) finished_.notify_one();
    }
  }

  std::mutex turn_, state_;
  std::condition_variable wake_, finished_;
  const std::function<void(long)>* work_ = nullptr;  // while a job is not done
  long parts_ = 0;
  std::atomic<long> next_{0};
  unsigned long job_ = 0;
  long busy_ = 0;  // threads that are at it
  long size_ = 0;
};
