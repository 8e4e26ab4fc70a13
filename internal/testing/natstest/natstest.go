// Package natstest runs NATS servers by the files that chessbrain fleet cluster writes.
package natstest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Addresses returns those of n servers on this machine, with commas between. The ports that
// lie offset above, for the servers themselves, are free, too. None is of those that systems
// give to connections and to listeners that ask for any (32768 and above).
func Addresses(t testing.TB, n, offset int) string {
	t.Helper()
	const first, ports = 10000, 20000
	var all []string
	for tries := 0; len(all) < n; tries++ {
		if tries == 1000 {
			t.Fatal("no free ports")
		}
		port := first + rand.IntN(ports)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close() // taken until all are found, so that none is found twice
		if other, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+offset))); err == nil {
			defer other.Close()
			all = append(all, l.Addr().String())
		}
	}
	return strings.Join(all, ",")
}

// Start starts the server of a file, which takes its key from the file's directory and
// stores its data there. It ends with the test at the latest.
func Start(t testing.TB, file string) *server.Server {
	t.Helper()
	s, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if s.Addr() == nil { // nats-server logs that, and goes on without players
		t.Fatalf("the port of %s is taken", file)
	}
	return s
}

// open makes the server of a file.
func open(file string) (*server.Server, error) {
	text, err := os.ReadFile(file)
	var o server.Options
	if err == nil { // servers take names as their working directory has them
		dir := filepath.ToSlash(filepath.Dir(file)) + "/"
		err = o.ProcessConfigString(strings.NewReplacer(`_file: "`, `_file: "`+dir, `_dir: "`, `_dir: "`+dir).Replace(string(text)))
	}
	if err != nil {
		return nil, err
	}
	o.NoSigs, o.NoLog = true, true
	return server.NewServer(&o)
}

// nodeFile names the file of the server that a test binary is, instead of tests.
const nodeFile = "CHESSBRAIN_TEST_NATS_NODE"

// Main is a test binary's TestMain: the tests, or a server that StartProcess has asked for.
func Main(m *testing.M) {
	file, ok := os.LookupEnv(nodeFile)
	if !ok {
		os.Exit(m.Run())
	}
	s, err := open(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	io.Copy(io.Discard, os.Stdin) // it ends with the test at the latest
}

// StartProcess is Start in a process of its own. kill kills it: nothing is flushed, nobody
// is told.
func StartProcess(t testing.TB, file string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), nodeFile+"="+file), os.Stderr
	_, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(kill)
	return kill
}
