// The rate that an open loop wants, over time, and how many operations that
// makes: piecewise linear, so that constant rates, steps and ramps are one
// thing.
//
// Times are seconds from the start of the profile; rates are operations a
// second. Before its start a profile goes on at its first rate, after its end
// at its last one. A plain value.
#ifndef CLIENT_LOAD_RATE_PROFILE_H_
#define CLIENT_LOAD_RATE_PROFILE_H_

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace vfsload {

class RateProfile {
 public:
  // Rates between which a part of the profile goes in a straight line.
  struct Part {
    double seconds;
    double from;
    double to;
  };

  // "5000": constant. "1000,2000,4000": steps of equal length. "1000:20000": a
  // ramp. "1000,1000:5000,5000": parts of equal length, of either kind. All
  // parts together last `seconds`. The error is for people.
  static std::expected<RateProfile, std::string> Parse(std::string_view text,
                                                       double seconds);
  // `parts` must not be empty, rates positive.
  RateProfile(std::string text, std::vector<Part> parts);

  // As it was typed.
  const std::string& text() const { return text_; }
  const std::vector<Part>& parts() const { return parts_; }

  // How many operations are planned from the start until `seconds`; negative
  // before the start.
  double CountAt(double seconds) const;
  // When the plan has come to `count` operations: the inverse of CountAt.
  double TimeOf(double count) const;

 private:
  std::string text_;
  std::vector<Part> parts_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_RATE_PROFILE_H_
