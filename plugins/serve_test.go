package plugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// roleKey names the environment variable that makes this test binary a plugin, or
// the host of one.
const roleKey = "CHESSBRAIN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleKey) {
	case "plugin":
		Serve(heavier{})
	case "host":
		os.Exit(beHost())
	}
	os.Exit(m.Run())
}

// heavier is a rescorer that doubles weights, and logs in every way.
type heavier struct{}

func (heavier) Name() string { return "heavier" }

func (heavier) Rescore(_ context.Context, g *record.Game) (*record.Game, error) {
	slog.Warn("rescoring", "plies", len(g.Plies), "@level", "not a level")
	fmt.Println("printed")
	out := g.Clone()
	for i := range out.Plies {
		out.Plies[i].Weight *= 2
	}
	return out, nil
}

type sampler struct{ stage.Sampler }

func (sampler) Name() string { return "some-sampler" }

type exporter struct{ stage.Exporter }

func (exporter) Name() string { return "some-exporter" }

// both is a rescorer and a sampler.
type both struct {
	heavier
	sampler
}

func (both) Name() string { return "both" }

type loud struct{ heavier }

func (loud) Name() string { return "LOUD" }

// What Serve takes, and what it makes of a bare stage.
func TestDefinitionOf(t *testing.T) {
	makes := func(stage.Values) (stage.Rescorer, error) { return heavier{}, nil }
	good := &stage.Definition{Kind: stage.KindRescorer, Name: "x", NewRescorer: makes}
	for _, c := range []struct {
		name  string
		serve any
		kind  stage.Kind
		want  string // of the error
	}{
		{"definition", good, stage.KindRescorer, ""},
		{"rescorer", heavier{}, stage.KindRescorer, ""},
		{"sampler", sampler{}, stage.KindSampler, ""},
		{"exporter", exporter{}, stage.KindExporter, ""},
		{"nil", nil, "", "nothing to serve"},
		{"nil definition", (*stage.Definition)(nil), "", "nil *stage.Definition"},
		{"a number", 7, "", "cannot serve a int"},
		{"two kinds", both{}, "", "cannot serve a plugins.both"},
		{"bad name", loud{}, "", `stage name "LOUD"`},
		{"definition without New", &stage.Definition{Kind: stage.KindRescorer, Name: "x"}, "", "New function"},
		{"definition of another kind", &stage.Definition{Kind: stage.KindSampler, Name: "x", NewRescorer: makes}, "", "New function"},
		{"invalid definition", &stage.Definition{Kind: "cook", Name: "x", NewRescorer: makes}, "", "unknown kind"},
	} {
		d, err := definitionOf(c.serve)
		if c.want != "" {
			var stderr bytes.Buffer
			code := run(c.serve, []string{"x"}, io.Discard, &stderr)
			if err == nil || !strings.Contains(err.Error(), c.want) || code != 1 || !strings.Contains(stderr.String(), "plugins.Serve: ") {
				t.Errorf("%s: %v, want %q; exit code %d, %s", c.name, err, c.want, code, &stderr)
			}
			continue
		}
		if err != nil || d.Kind != c.kind {
			t.Errorf("%s: %+v, %v", c.name, d, err)
		}
	}
	d, err := definitionOf(heavier{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.MakeRescorer(nil); err != nil || r != (heavier{}) || d.Name != "heavier" || d.Version != "0.0.0" {
		t.Errorf("%+v makes %v, %v", d, r, err)
	}
}

// --describe, --help and a start by hand.
func TestByHand(t *testing.T) {
	d := &stage.Definition{Kind: stage.KindRescorer, Name: "x", Version: "1.2.3", Doc: "does something", Concurrency: 2,
		Settings:    []stage.Setting{{Name: "power", Doc: "exponent", Min: 1, Max: 4, Default: "2"}},
		NewRescorer: func(stage.Values) (stage.Rescorer, error) { return nil, errors.New("not to be made") }}
	var stdout, stderr bytes.Buffer
	if code := run(d, []string{"dir/x", "--describe"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Errorf("--describe exits with %d: %s", code, &stderr)
	}
	var said struct {
		Kind, Name, Version string
		Concurrency         int
		Settings            []struct{ Name, Default, Allowed string }
	}
	if err := json.Unmarshal(stdout.Bytes(), &said); err != nil {
		t.Fatal(err)
	}
	if said.Kind != "rescorer" || said.Name != "x" || said.Version != "1.2.3" || said.Concurrency != 2 || len(said.Settings) != 1 ||
		said.Settings[0].Name != "power" || said.Settings[0].Default != "2" || said.Settings[0].Allowed != "a number from 1 to 4" {
		t.Errorf("--describe prints %s", &stdout)
	}
	for _, c := range []struct {
		args []string
		code int
		out  *bytes.Buffer
	}{
		{[]string{"dir/x"}, 2, &stderr}, {[]string{"dir/x", "--verbose"}, 2, &stderr}, {[]string{"dir/x", "--help"}, 0, &stdout},
	} {
		stdout.Reset()
		stderr.Reset()
		code := run(d, c.args, &stdout, &stderr)
		for _, want := range []string{"rescorer x 1.2.3", "does something", "--rescorer x", "power", "1 to 4", "--describe"} {
			if !strings.Contains(c.out.String(), want) {
				t.Errorf("%v prints %s, without %q", c.args, c.out, want)
			}
		}
		if code != c.code || stdout.Len() > 0 && stderr.Len() > 0 {
			t.Errorf("%v exits with %d, want %d; prints %s and %s", c.args, code, c.code, &stdout, &stderr)
		}
	}
}

// Log records have the fields that go-plugin's host reads, each a text.
func TestLogHandler(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(newLogHandler(&b))
	log.Debug("one")
	log.Warn("two", "@message", 5, "plies", 3, slog.Group("g", "level", 7))
	log.Log(context.Background(), slog.LevelError+4, "three")
	want := []map[string]any{
		{"@level": "debug", "@message": "one"}, {"@level": "warn", "@message": "two", "at_message": 5.0, "plies": 3.0}, {"@level": "error", "@message": "three"},
	}
	lines := bufio.NewScanner(&b)
	for _, w := range want {
		var got map[string]any
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &got) != nil {
			t.Fatalf("line %q", lines.Text())
		}
		if _, ok := got["@timestamp"].(string); !ok {
			t.Errorf("no time in %s", lines.Text())
		}
		for key, value := range w {
			if got[key] != value {
				t.Errorf("%s is %v in %s, want %v", key, got[key], lines.Text(), value)
			}
		}
	}
}

// clientConfig starts this binary as a plugin that inherits a file.
func clientConfig(socketDir string, logTo io.Writer, inherited *os.File) *goplugin.ClientConfig {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleKey+"=plugin", goplugin.EnvUnixSocketDir+"="+socketDir)
	cmd.ExtraFiles = []*os.File{inherited}
	return &goplugin.ClientConfig{
		HandshakeConfig: api.Handshake, Plugins: api.Set(nil), Cmd: cmd, AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions: api.DialOptions(), SyncStdout: logTo, SkipHostEnv: true,
		Logger: hclog.New(&hclog.LoggerOptions{Output: logTo, Level: hclog.Info, JSONFormat: true}),
	}
}

// pipe returns a pipe whose second end is to be inherited: the first one ends when
// all processes that have it are gone.
func pipe(t *testing.T) (held, inherited *os.File) {
	t.Helper()
	held, inherited, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	return held, inherited
}

// A bare stage, served by a process: it works, its logs arrive, an interrupt leaves
// it alone, and the order to terminate ends it and removes its socket.
func TestServe(t *testing.T) {
	ctx, dir := context.Background(), shortDir(t)
	held, inherited := pipe(t)
	logs := &lines{seen: make(chan string, 1000)}
	client := goplugin.NewClient(clientConfig(dir, logs, inherited))
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	inherited.Close()
	raw, err := protocol.Dispense(api.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	c := raw.(*api.Conn)
	d, err := c.Describe(ctx)
	if err != nil || d.Name != "heavier" || d.Kind != stage.KindRescorer {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := c.Open(ctx, d, nil); err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(client.ReattachConfig().Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stream, err := c.OpenRescore(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := stream.Send([]*record.Game{{NetID: "n"}}); err != nil {
		t.Fatal(err)
	}
	if result, err := stream.Recv(); err != nil || result.Games[0].NetID != "n" {
		t.Fatalf("after an interrupt: %v, %+v", err, result)
	}
	logs.find(t, "printed")
	if line := logs.find(t, `"@message":"rescoring"`); !strings.Contains(line, `"@level":"warn"`) || !strings.Contains(line, `"plies":0`) {
		t.Errorf("log line %s", line)
	}
	if sockets(dir) == nil {
		t.Error("no socket in the directory that the host gave")
	}
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(held); err != nil { // waits for the end of the process
		t.Fatal(err)
	}
	if _, err := c.Describe(ctx); err == nil {
		t.Error("it answers after its end")
	}
	if left := sockets(dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// sockets returns what plugins have in the directory for their sockets.
func sockets(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is right
	return paths
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// lines takes what is logged and printed.
type lines struct {
	seen  chan string
	found []string // read from seen, by find's goroutine
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		select {
		case l.seen <- line:
		default: // more lines than the test needs
		}
	}
	return len(p), nil
}

// find waits for a line that holds a text.
func (l *lines) find(t *testing.T, text string) string {
	t.Helper()
	for _, line := range l.found {
		if strings.Contains(line, text) {
			return line
		}
	}
	for line := range l.seen {
		if l.found = append(l.found, line); strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// A plugin ends with its host, also when that has no time to say so.
func TestServeHostKilled(t *testing.T) {
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), roleKey+"=host")
	held, inherited := pipe(t)
	host.ExtraFiles = []*os.File{inherited} // and hands it on to the plugin
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	inherited.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		t.Fatalf("the host says %q: %v", line, err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	host.Wait() // it was killed
	if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	dir := filepath.Dir(strings.TrimSpace(strings.TrimPrefix(line, "ready ")))
	if left := sockets(dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
	os.RemoveAll(dir)
}

// beHost starts a plugin that inherits file 3, says where it listens, and waits to
// be killed.
func beHost() int {
	dir, err := os.MkdirTemp("", "cb")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	client := goplugin.NewClient(clientConfig(dir, io.Discard, os.NewFile(3, "inherited")))
	if _, err := client.Client(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", client.ReattachConfig().Addr.String())
	select {}
}
