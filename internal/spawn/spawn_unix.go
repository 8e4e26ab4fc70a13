//go:build unix

package spawn

import "syscall"

// Gone says that no process of this machine has the id.
func Gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// signal sends a signal to the group that a process leads; that all are gone is no error.
func signal(pid int, s syscall.Signal) { syscall.Kill(-pid, s) }
