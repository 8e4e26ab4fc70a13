//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
)

// TestReloads: with a configuration file SIGHUP is delivered and ends nothing.
func TestReloads(t *testing.T) {
	signals, stop := reloads("run.textproto")
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if s := <-signals; s != syscall.SIGHUP {
		t.Errorf("signal %v", s)
	}
	none, stopNone := reloads("")
	stopNone()
	if none != nil {
		t.Error("without a file there is nothing to read")
	}
}
