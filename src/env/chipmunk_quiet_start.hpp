// Keeps Chipmunk's greeting off stdout.
#pragma once

namespace lerobot::env {

// A Chipmunk built with assertions (Debian's is) prints two lines to stdout when the first space of the process is
// made, where they would end up in the output of a program whose stdout is data. This makes that first space, once a
// process, with stdout's stream pointed at /dev/null. The stream is locked meanwhile: what other threads print through
// it waits and is not lost; file descriptor 1 itself stays as it is, so neither write(1, ...) nor a child process
// notices. Thread-safe. Without glibc the lines are printed.
void start_chipmunk_quietly();

}  // namespace lerobot::env
