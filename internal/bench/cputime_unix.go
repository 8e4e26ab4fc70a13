//go:build unix

package bench

import (
	"syscall"
	"time"
)

// busyTime returns the CPU time, user and system, of all threads of the process
// so far: garbage collection and the runtime are in it, waiting is not.
func busyTime() time.Duration { return usage(syscall.RUSAGE_SELF) }

// childTime returns the CPU time, user and system, of all processes that this one
// started, that have ended and that were waited for.
func childTime() time.Duration { return usage(syscall.RUSAGE_CHILDREN) }

func usage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic("bench: getrusage: " + err.Error()) // fails on bad arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
