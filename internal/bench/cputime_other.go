//go:build !unix

package bench

import "time"

// Clock names what busyTime counts: here it is the time that workers had, whether
// or not they got a core.
const Clock = "wall"

var processStart = time.Now()

// busyTime returns the time since the start, times the workers.
func busyTime(workers int) time.Duration { return time.Since(processStart) * time.Duration(workers) }

// childTime returns 0: the CPU time of other processes is not known here.
func childTime() time.Duration { return 0 }
