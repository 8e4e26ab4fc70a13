//go:build unix

package spawn

import "syscall"

// signal sends a signal to the group that a process leads; that all are gone is no error.
func signal(pid int, s syscall.Signal) { syscall.Kill(-pid, s) }
