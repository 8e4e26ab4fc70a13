//go:build unix

package spawn

import "syscall"

// Signal sends a signal to the group that a process leads; that all are gone is no error.
func Signal(pid int, s syscall.Signal) { syscall.Kill(-pid, s) }
