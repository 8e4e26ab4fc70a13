// Package natstest runs NATS servers by the files that chessbrain fleet cluster writes.
package natstest

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Addresses returns those of n servers on this machine, with commas between. The ports that
// lie offset above, for the servers themselves, are free, too.
func Addresses(t testing.TB, n, offset int) string {
	t.Helper()
	var all []string
	for len(all) < n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		port := l.Addr().(*net.TCPAddr).Port + offset
		if other, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			other.Close()
			all = append(all, l.Addr().String())
		}
	}
	return strings.Join(all, ",")
}

// Start starts the server of a file, which takes its key from the file's directory and
// stores its data there. It ends with the test at the latest.
func Start(t testing.TB, file string) *server.Server {
	t.Helper()
	text, err := os.ReadFile(file)
	var o server.Options
	if err == nil { // servers take names as their working directory has them
		dir := filepath.ToSlash(filepath.Dir(file)) + "/"
		err = o.ProcessConfigString(strings.NewReplacer(`_file: "`, `_file: "`+dir, `_dir: "`, `_dir: "`+dir).Replace(string(text)))
	}
	o.NoSigs, o.NoLog = true, true
	var s *server.Server
	if err == nil {
		s, err = server.NewServer(&o)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}
