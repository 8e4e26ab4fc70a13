//go:build unix

package bench

import (
	"syscall"
	"time"
)

// Clock names what busyTime counts.
const Clock = "cpu"

// busyTime returns the CPU time, user and system, of all threads of the process
// so far: garbage collection and the runtime are in it, waiting is not.
func busyTime(int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("bench: getrusage of the own process: " + err.Error()) // fails on bad arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
