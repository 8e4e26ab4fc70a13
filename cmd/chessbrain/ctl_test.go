package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// told is a standard error that takes one message.
type told struct {
	bytes.Buffer
	first chan struct{}
}

func (w *told) Write(b []byte) (int, error) {
	defer close(w.first) // twice is a panic: the wait is explained once
	return w.Buffer.Write(b)
}

// TestCtlWaits: a wait for an answer is explained once, and ends with the answer, with the
// process, or at Ctrl-C.
func TestCtlWaits(t *testing.T) {
	within := answersWithin
	t.Cleanup(func() { answersWithin = within })
	for _, c := range []struct {
		name   string
		within time.Duration
		serve  func(net.Conn, *told, context.CancelFunc)
		out    string
		err    string // "" = none
	}{
		{"answers at once", time.Hour, func(conn net.Conn, _ *told, _ context.CancelFunc) {
			fmt.Fprintln(conn, `{"type":"status","payload":1}`)
		}, `{"type":"status","payload":1}`, ""},
		{"answers late", 1, func(conn net.Conn, w *told, _ context.CancelFunc) {
			<-w.first
			fmt.Fprintln(conn, `{"type":"status","payload":2}`)
		}, `{"type":"status","payload":2}`, ""},
		{"ends meanwhile", 1, func(conn net.Conn, w *told, _ context.CancelFunc) {
			<-w.first
			conn.Close()
		}, "", "read the answer to status: the process ended before it answered"},
		{"never answers", 1, func(conn net.Conn, w *told, stop context.CancelFunc) {
			<-w.first
			stop()
			io.Copy(io.Discard, conn) // until ctl gives up
		}, "", context.Canceled.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			answersWithin = c.within
			root := t.TempDir()
			lock := run.Dir{Root: root}.Lock(run.Rater)
			if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
				t.Fatal(err)
			}
			held, err := fsx.Acquire(lock, fsx.LockOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer held.Release()
			private, err := os.MkdirTemp("", "ctl") // the path of a socket is short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(private)
			socket := filepath.Join(private, "s")
			listener, err := net.Listen("unix", socket)
			if err == nil {
				err = held.SetSocket(socket)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			says := &told{first: make(chan struct{})}
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != `{"type":"status"}`+"\n" {
					t.Errorf("asked %q, %v", line, err)
				}
				c.serve(conn, says, stop)
			}()
			var out bytes.Buffer
			command := newRoot()
			command.SetArgs([]string{"ctl", root, "status", "--role", string(run.Rater)})
			command.SetOut(&out)
			command.SetErr(says)
			err = command.ExecuteContext(ctx)
			if got := fmt.Sprint(err); c.err == "" && err != nil || c.err != "" && got != c.err {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if strings.TrimSpace(out.String()) != c.out {
				t.Errorf("printed %q, want %q", out.String(), c.out)
			}
			want := ""
			if c.within == 1 {
				want = fmt.Sprintf("chessbrain: process %d has not answered for 1ns: it is suspended, or in a long step; Ctrl-C ends the wait\n", os.Getpid())
			}
			if says.String() != want {
				t.Errorf("said %q, want %q", says.String(), want)
			}
		})
	}
}

// TestCtlNobody: where no process of a role is at work, that is said at once.
func TestCtlNobody(t *testing.T) {
	root := t.TempDir()
	command := newRoot()
	command.SetArgs([]string{"ctl", root, "status", "--role", string(run.Rater)})
	if err := command.ExecuteContext(t.Context()); err == nil || err.Error() != "there is no rater at work in "+root+" now" {
		t.Error(err)
	}
}
