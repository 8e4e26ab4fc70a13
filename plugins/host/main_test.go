package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// The test binary is also the plugin of the tests, and a host that is killed:
// these environment variables say which. The plugin's file name says what it does.
const (
	pluginEnv = "HOST_TEST_PLUGIN" // a directory that test and plugin share
	hostEnv   = "HOST_TEST_HOST"   // the name of a program in that directory
)

func TestMain(m *testing.M) {
	dir := os.Getenv(pluginEnv)
	switch {
	case os.Getenv(hostEnv) != "":
		beHost(dir, os.Getenv(hostEnv))
	case dir != "":
		bePlugin(dir)
	default:
		os.Exit(m.Run())
	}
}

// beHost starts a rescorer and waits to be killed.
func beHost(dir, name string) {
	h, err := New(Options{Dirs: []string{filepath.Join(dir, "bin")}, Env: []string{pluginEnv + "=" + dir}})
	if err == nil {
		_, err = h.Rescorer(context.Background(), stage.Choice{Name: name})
	}
	fmt.Println("started:", err)
	forever()
}

// bePlugin serves the stage that the program's name stands for, or does what no
// plugin should.
func bePlugin(dir string) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), filepath.Ext(os.Args[0]))
	report(dir, name)
	if _, err := os.Stat(filepath.Join(dir, "broken")); err == nil {
		fmt.Fprintln(os.Stderr, "the file broken is there")
		os.Exit(3)
	}
	switch name {
	case "silent":
		signal.Ignore(syscall.SIGTERM)
		forever()
	case "garbage":
		fmt.Println("hello, I am a program")
		forever()
	case "version":
		fmt.Println("1|9|unix|" + filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s") + "|grpc")
		forever()
	case "elsewhere":
		fmt.Printf("1|%d|tcp|127.0.0.1:9|grpc\n", api.ProtocolVersion)
		forever()
	case "deaf": // shakes hands and never accepts
		listenOnly(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	case "badlog":
		fmt.Fprintln(os.Stderr, `{"@message": 1, "@level": {}, "@timestamp": []}`)
		fmt.Fprintln(os.Stderr, `{"@message": "said by the plugin", "@level": "warn", "answer": 42}`)
	case "parent", "runaway": // leave a child behind that holds their standard error
		c := exec.Command("sleep", "1000")
		if c.Stderr = os.Stderr; name == "runaway" {
			leave(c)
		}
		if err := c.Start(); err != nil {
			os.Exit(4)
		}
		save(dir, "child", fmt.Sprint(c.Process.Pid))
	case "misnamed":
		name = "another"
	}
	plugins.Serve(testDefinition(dir, name))
}

// forever is longer than any test; select{} would be a deadlock, which ends the
// process.
func forever() { time.Sleep(time.Hour) }

// report writes what the process sees of the host into a file.
func report(dir, name string) {
	mode := ""
	if info, err := os.Stat(os.Getenv("PLUGIN_UNIX_SOCKET_DIR")); err == nil {
		mode = info.Mode().String()
	}
	data, err := json.Marshal(pluginReport{os.Getpid(), os.Environ(), mode, os.Args[0]})
	if err != nil {
		panic(err)
	}
	save(dir, "report-"+name, string(data))
}

// pluginReport is what a plugin of the tests says of its process.
type pluginReport struct {
	PID     int
	Environ []string
	Mode    string // of the socket's directory
	Path    string
}

// save writes a file whole.
func save(dir, name, text string) {
	temp := filepath.Join(dir, fmt.Sprintf(".%s.%d", name, os.Getpid()))
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		panic(err)
	}
}

// once is true for the first process that asks for a name.
func once(dir, name string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "once-"+name), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
