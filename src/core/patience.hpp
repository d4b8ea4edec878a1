// How long a fit may take, and whether somebody wants it to stop.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>

namespace ordbridge {

struct OutOfTime : std::runtime_error {
    OutOfTime() : std::runtime_error("the time is over") {}
};

class Patience {
  public:
    // `interrupted` is asked ten times a second and throws if the caller wants to stop.
    Patience(double seconds, std::function<void()> interrupted)
        : seconds_(seconds), interrupted_(std::move(interrupted)), began_(Clock::now()), asked_(began_) {}

    void check() {
        const Clock::time_point now = Clock::now();
        if (std::chrono::duration<double>(now - began_).count() > seconds_) throw OutOfTime();
        if (now - asked_ > std::chrono::milliseconds(100)) {
            asked_ = now;
            interrupted_();
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    double seconds_;
    std::function<void()> interrupted_;
    Clock::time_point began_, asked_;
};

}  // namespace ordbridge
