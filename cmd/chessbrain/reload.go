package main

import (
	"os"
	"os/signal"
	"syscall"
)

// reloads delivers a signal for each SIGHUP, which asks to read the configuration
// file again. Without a file there is nothing to read: SIGHUP then ends the
// process as it ends others.
func reloads(config string) (signals <-chan os.Signal, stop func()) {
	if config == "" {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
