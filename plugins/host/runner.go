package host

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// pipeGrace is how long what a dead process wrote may take to be read. Its
	// pipes end with it, unless it left a child behind that holds them.
	pipeGrace = 500 * time.Millisecond

	settleGrace = 250 * time.Millisecond // see settle

	busyTries = 100 // of an execution while some fork still holds the copy open for writing
	busyPause = 10 * time.Millisecond
)

// child runs one process. It leads a group of its own, which is killed with it.
type child struct {
	path   string // of the private copy
	env    []string
	logs   *logs
	stdout *os.File // the reading end

	exited chan struct{} // closed when the process is gone and its log was read
	end    string        // how it ended, such as "exit status 2"; after exited

	mu     sync.Mutex
	pid    int  // 0 = not started
	killed bool // by kill, perhaps before the start
	ended  bool // before any kill
	reaped bool // its number may belong to another process
}

// start executes the program.
func (c *child) start() error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, outR.Close(), outW.Close())
	}
	c.stdout = outR
	started := make(chan error, 1)
	go c.live(outW, errW, errR, started)
	err = <-started
	outW.Close()
	errW.Close()
	if err != nil {
		outR.Close()
		errR.Close()
	}
	return err
}

// live executes the program and waits for its end, all on one thread: Linux
// kills the process when the thread that started it ends (setAttributes), and
// this one lasts as long as the process.
func (c *child) live(outW, errW, errR *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, err := c.execute(outW, errW)
	if err != nil {
		started <- err
		return
	}
	pid := cmd.Process.Pid
	c.mu.Lock()
	c.pid = pid
	killed := c.killed
	c.mu.Unlock()
	if killed {
		c.kill()
	}
	started <- nil

	logged := make(chan struct{})
	go func() {
		defer close(logged)
		c.logs.read(errR)
	}()
	awaited := awaitExit(pid)
	if awaited {
		c.signal(syscall.SIGKILL) // what it started; its number is still its own
		c.gone()
	}
	cmd.Wait() // the state says it all
	if !awaited {
		c.gone()
	}
	c.end = cmd.ProcessState.String()
	soon := time.Now().Add(pipeGrace)
	errR.SetReadDeadline(soon)
	c.stdout.SetReadDeadline(soon)
	<-logged
	errR.Close()
	close(c.exited)
}

// execute starts the process. A copy that was just written can be busy: a fork
// elsewhere in this process may hold it open until its own exec.
func (c *child) execute(stdout, stderr *os.File) (*exec.Cmd, error) {
	for try := 0; ; try++ {
		cmd := exec.Command(c.path)
		cmd.Env, cmd.Stdout, cmd.Stderr = c.env, stdout, stderr
		setAttributes(cmd)
		err := cmd.Start()
		if err == nil || try == busyTries || !errors.Is(err, syscall.ETXTBSY) {
			return cmd, err
		}
		time.Sleep(busyPause)
	}
}

// kill kills the process and its group, as soon as it is started if it is not
// yet. It does nothing after the end.
func (c *child) kill() {
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	c.signal(syscall.SIGKILL)
}

// gone notes that the process has ended.
func (c *child) gone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped, c.ended = true, !c.killed
}

// signal sends a signal to the process and its group.
func (c *child) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid != 0 && !c.reaped {
		syscall.Kill(-c.pid, s) // an error says that all are gone
	}
}

// number returns the process id, 0 before the start.
func (c *child) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}

// hasExited says whether the process is gone.
func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// settle gives a process that broke its connection a moment to be seen dead: a
// connection ends a little before its process.
func (c *child) settle() {
	timer := time.NewTimer(settleGrace)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
	}
}

// diedAlone says that the process ended before any kill. It is gone.
func (c *child) diedAlone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended || c.end != "" && c.end != "signal: killed"
}
