// Package spawn sees to it that processes end: an engine or a plugin leads a process group
// of its own, which is killed at its end, and on Linux it dies with this program, however
// that dies.
//
//	cmd := exec.Command(path)
//	spawn.Lead(cmd)
//	runtime.LockOSThread() // the process ends with the thread that starts it
//	err := cmd.Start()
//	spawn.Wait(cmd, killGroup, gone)
package spawn

import "os/exec"

// Wait waits for the end of a process that runs. kill is called while its number, and its
// group's, are still taken, to end what it started, where the system lets that moment be
// seen. gone is called when the number may belong to another process soon.
func Wait(cmd *exec.Cmd, kill, gone func()) {
	awaited := awaitExit(cmd.Process.Pid)
	if awaited {
		kill()
		gone()
	}
	cmd.Wait() // the state says it all
	if !awaited {
		gone()
	}
}
