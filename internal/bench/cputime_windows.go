package bench

import (
	"time"

	"golang.org/x/sys/windows"
)

// busyTime returns the CPU time, user and system, of all threads of the process so far.
func busyTime() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		panic("bench: GetProcessTimes: " + err.Error()) // fails on bad arguments only
	}
	// Durations in units of 100 ns; Nanoseconds would count from 1601.
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}

// childTime is not known: Windows does not count what ended processes used.
func childTime() time.Duration { return 0 }
