// Package spawn sees to it that processes end: an engine or a plugin leads a process group
// of its own, which is killed at its end, and on Linux it dies with this program, however
// that dies. Linux also finds what left the group, by a variable of its environment, but
// not what a killed chessbrain or a process that cleared its environment leaves behind.
//
//	var p spawn.Process
//	go func() {
//		err := p.Live(func() (*exec.Cmd, error) {
//			cmd := exec.Command(path)
//			spawn.Lead(cmd)
//			return cmd, cmd.Start()
//		}, func() { close(started) })
//	}()
//	p.KillGroup()
package spawn

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Process is a program that leads a process group. The zero value is one that is not started.
type Process struct {
	State string // how it ended, such as "exit status 2"; once Live has returned

	mu     sync.Mutex
	pid    int  // 0 = not started
	killed bool // by KillGroup, perhaps before the start
	alone  bool // it ended before that
	reaped bool // its number may belong to another process
}

// Live has start execute the program, calls started once it runs, and waits for its end, all
// on one thread: Linux kills the process when the thread that started it ends, and this one
// lasts as long as the process. An error is start's.
func (p *Process) Live(start func() (*exec.Cmd, error), started func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, err := start()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.pid = cmd.Process.Pid
	killed := p.killed
	p.mu.Unlock()
	if killed {
		p.SignalGroup(syscall.SIGKILL)
	}
	started()
	// Its number, and its group's, are still taken where the system lets that moment be
	// seen: what it started is ended then.
	awaited := awaitExit(cmd.Process.Pid)
	if awaited {
		p.SignalGroup(syscall.SIGKILL)
		killMarked(cmd.Env)
		p.gone()
	}
	cmd.Wait() // the state says it all
	if !awaited {
		p.gone()
	}
	p.State = cmd.ProcessState.String()
	return nil
}

// gone notes that the process has ended: its number may belong to another one soon.
func (p *Process) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped, p.alone = true, !p.killed
}

// KillGroup kills the process and its group, as soon as it is started if it is not yet. It
// does nothing after the end.
func (p *Process) KillGroup() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.SignalGroup(syscall.SIGKILL)
}

// SignalGroup sends a signal to the process and its group, if it runs.
func (p *Process) SignalGroup(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 && !p.reaped {
		signal(p.pid, s)
	}
}

// Resident returns the bytes of memory that a process holds, of which only Linux tells.
func Resident(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int64
	if err == nil {
		_, err = fmt.Sscan(string(data), &size, &resident)
	}
	return resident * int64(os.Getpagesize()), err
}

// Number returns the process id, 0 before the start.
func (p *Process) Number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// EndedAlone says of a process for which Live has returned that it ended before any kill.
func (p *Process) EndedAlone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone || p.State != "" && p.State != "signal: killed"
}
