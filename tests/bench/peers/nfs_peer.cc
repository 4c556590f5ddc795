#include "tests/bench/peers/nfs_peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nfsc/libnfs.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/bench/peers/port.h"

namespace wirebench {
namespace {

constexpr size_t kInFlight = 32;

std::vector<std::string> Absolute(const std::vector<std::string>& paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) absolute.push_back("/" + path);
  return absolute;
}

void Replace(std::string& text, const std::string& what,
             const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

std::string WriteConfig(const std::string& scratch, int port) {
  std::ifstream file(PEERS_CONFIG "/ganesha.conf.in");
  std::stringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  // The comment at its top names them once more.
  text.erase(0, text.find("NFS_CORE_PARAM"));
  std::filesystem::create_directories(scratch + "/ganesha");
  Replace(text, "@PORT@", std::to_string(port));
  Replace(text, "@STATE@", scratch + "/ganesha");
  Replace(text, "@PLUGINS@", GANESHA_PLUGINS);
  const std::string path = scratch + "/ganesha.conf";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

NfsPeer::NfsPeer(const std::string& scratch,
                 const std::vector<std::string>& there,
                 const std::vector<std::string>& missing)
    : there_(Absolute(there)), missing_(Absolute(missing)) {
  const int port = FreePort();
  process_ = std::make_unique<Process>(std::vector<std::string>{
      "ganesha.nfsd", "-F", "-f", WriteConfig(scratch, port), "-L",
      scratch + "/ganesha.log", "-p", scratch + "/ganesha.pid"});
  WaitForPort(port, "nfs-ganesha");
  for (size_t i = 0; i < kInFlight; ++i) connections_.push_back(Mount(port));
  nfs_context* const nfs = connections_.front();
  for (const std::string& path : there_) {
    for (size_t end = path.find('/', 1); end != std::string::npos;
         end = path.find('/', end + 1)) {
      nfs_mkdir(nfs, path.substr(0, end).c_str());
    }
    nfsfh* file = nullptr;
    if (nfs_creat(nfs, path.c_str(), 0644, &file) != 0)
      Die(fmt::format("nfs: {}: {}", path, nfs_get_error(nfs)));
    nfs_close(nfs, file);
  }
}

NfsPeer::~NfsPeer() {
  for (nfs_context* nfs : connections_) nfs_destroy_context(nfs);
}

nfs_context* NfsPeer::Mount(int port) {
  const std::string where =
      fmt::format("nfs://127.0.0.1/mem?version=4&nfsport={}&uid=0&gid=0", port);
  for (int i = 0; i < 100; ++i) {
    nfs_context* nfs = nfs_init_context();
    // To NFS 4 each connection is a client of its own.
    const std::string name = fmt::format("bench-{}", connections_.size());
    nfs4_set_client_name(nfs, name.c_str());
    nfs_url* url = nfs_parse_url_dir(nfs, where.c_str());
    if (url == nullptr) Die(fmt::format("nfs: {}", nfs_get_error(nfs)));
    const bool mounted = nfs_mount(nfs, url->server, url->path) == 0;
    nfs_destroy_url(url);
    if (mounted) return nfs;
    nfs_destroy_context(nfs);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  Die("nfs-ganesha cannot be mounted");
}

const std::string& NfsPeer::NextPath(NfsQuestion question) {
  const std::vector<std::string>& paths =
      question == NfsQuestion::kFailedOpen ? missing_ : there_;
  if (++next_ >= paths.size()) next_ = 0;
  return paths[next_];
}

uint64_t NfsPeer::AskOneByOne(NfsQuestion question,
                              std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  nfs_context* const nfs = connections_.front();
  uint64_t operations = 0;
  while (std::chrono::steady_clock::now() < end) {
    const char* path = NextPath(question).c_str();
    nfsfh* file = nullptr;
    bool right = false;
    switch (question) {
      case NfsQuestion::kOpenClose:
        right = nfs_open(nfs, path, O_RDONLY, &file) == 0 &&
                nfs_close(nfs, file) == 0;
        operations += 2;
        break;
      case NfsQuestion::kStat: {
        nfs_stat_64 stat;
        right = nfs_stat64(nfs, path, &stat) == 0 && stat.nfs_ino != 0;
        ++operations;
        break;
      }
      case NfsQuestion::kFailedOpen:
        right = nfs_open(nfs, path, O_RDONLY, &file) == -ENOENT;
        ++operations;
        break;
    }
    if (!right) Die(fmt::format("nfs: {}: {}", path, nfs_get_error(nfs)));
  }
  return operations;
}

// Many questions in flight: each that is answered starts the next one.
class NfsFlight {
 public:
  NfsFlight(NfsPeer& peer, NfsQuestion question,
            std::chrono::nanoseconds duration)
      : peer_(peer),
        question_(question),
        end_(std::chrono::steady_clock::now() + duration) {}

  uint64_t Run() {
    for (nfs_context* nfs : peer_.connections_) Start(nfs);
    std::vector<pollfd> fds(peer_.connections_.size());
    while (under_way_ > 0) {
      for (size_t i = 0; i < fds.size(); ++i) {
        nfs_context* nfs = peer_.connections_[i];
        fds[i] = {.fd = nfs_get_fd(nfs),
                  .events = static_cast<int16_t>(nfs_which_events(nfs)),
                  .revents = 0};
      }
      if (poll(fds.data(), fds.size(), 1000) < 0) Die("nfs: poll");
      for (size_t i = 0; i < fds.size(); ++i) {
        if (fds[i].revents != 0 &&
            nfs_service(peer_.connections_[i], fds[i].revents) < 0) {
          Die(fmt::format("nfs: {}", nfs_get_error(peer_.connections_[i])));
        }
      }
    }
    return operations_;
  }

 private:
  void Start(nfs_context* nfs) {
    const char* path = peer_.NextPath(question_).c_str();
    const int started =
        question_ == NfsQuestion::kStat
            ? nfs_stat64_async(nfs, path, &NfsFlight::OnAnswer, this)
            : nfs_open_async(nfs, path, O_RDONLY, &NfsFlight::OnAnswer, this);
    if (started != 0) Die(fmt::format("nfs: {}", nfs_get_error(nfs)));
    ++under_way_;
  }

  static void OnAnswer(int error, nfs_context* nfs, void* data, void* self) {
    auto& flight = *static_cast<NfsFlight*>(self);
    const int expected =
        flight.question_ == NfsQuestion::kFailedOpen ? -ENOENT : 0;
    if (error != expected) Die(fmt::format("nfs: error {}", error));
    ++flight.operations_;
    if (flight.question_ != NfsQuestion::kOpenClose) return flight.Ended(nfs);
    if (nfs_close_async(nfs, static_cast<nfsfh*>(data), &NfsFlight::OnClosed,
                        self) != 0) {
      Die(fmt::format("nfs: {}", nfs_get_error(nfs)));
    }
  }
  static void OnClosed(int error, nfs_context* nfs, void*, void* self) {
    if (error != 0) Die(fmt::format("nfs: close: error {}", error));
    auto& flight = *static_cast<NfsFlight*>(self);
    ++flight.operations_;
    flight.Ended(nfs);
  }

  void Ended(nfs_context* nfs) {
    --under_way_;
    if (std::chrono::steady_clock::now() < end_) Start(nfs);
  }

  NfsPeer& peer_;
  const NfsQuestion question_;
  const std::chrono::steady_clock::time_point end_;
  size_t under_way_ = 0;
  uint64_t operations_ = 0;
};

uint64_t NfsPeer::AskMany(NfsQuestion question,
                          std::chrono::nanoseconds duration) {
  return NfsFlight(*this, question, duration).Run();
}

}  // namespace wirebench
