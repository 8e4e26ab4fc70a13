//go:build unix

package handover

import "syscall"

// become replaces this program; it returns only with an error.
func become(path string, args, env []string) error { return syscall.Exec(path, args, env) }
