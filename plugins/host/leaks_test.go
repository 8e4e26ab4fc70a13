package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// leftovers counts what a process holds.
type leftovers struct{ goroutines, descriptors, children int }

func count(t *testing.T) leftovers {
	t.Helper()
	l := leftovers{goroutines: runtime.NumGoroutine()}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc on this system: %v", err)
	}
	l.descriptors = len(fds)
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range tasks {
		data, _ := os.ReadFile(path)
		l.children += len(strings.Fields(string(data)))
	}
	return l
}

// Close leaves no goroutine, descriptor, process or file, whatever was under way
// and however often plugins died.
func TestCloseLeavesNothing(t *testing.T) {
	temp := shortTemp(t)
	round := func() {
		b := newBench(t, []string{"halve", "picker", "writer", "garbage", "silent", "deaf", "misnamed"}, func(o *Options) { o.Restarts = 2 })
		r := b.rescorer("halve")
		games := randomGames(t, 40)
		games[3].Seed = seedDie
		rescored(t, r, games)
		s := b.sampler(map[string]string{"die": "2"})
		d := stage.Draw{Index: window{0, 9}, Rows: 5}
		for range 3 {
			var err error
			if _, d.State, err = s.Sample(inTime(t), d, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Exporter(t.Context(), stage.Choice{Name: "writer"}); err != nil {
			t.Fatal(err)
		}
		b.o.StartTimeout = 1e8 // 0.1 s
		for _, name := range []string{"garbage", "silent", "deaf", "misnamed"} {
			if _, err := b.Rescorer(t.Context(), stage.Choice{Name: name}); err == nil {
				t.Errorf("%s was started", name)
			}
		}
		games[0].Seed = seedHang
		hung := make(chan error)
		go func() {
			_, err := r.RescoreBatch(t.Context(), games[:1])
			hung <- err
		}()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-hung; err == nil {
			t.Error("a call outlived the host")
		}
	}
	round() // what is made once in a process
	before := count(t)
	round()
	eventually(t, "as many goroutines, descriptors and children as before", func() bool {
		now := count(t)
		return now.goroutines <= before.goroutines && now.descriptors <= before.descriptors && now.children <= before.children
	})
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A host that is killed leaves no plugin behind, not even one that ignores all
// signals that can be ignored and does not use the SDK; and the next host removes
// its files.
func TestKilledHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills the child of a process that is killed")
	}
	temp := shortTemp(t)
	for _, name := range []string{"halve", "silent"} {
		b := newBench(t, []string{name}, nil)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), pluginEnv+"="+b.dir, hostEnv+"="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := b.report(name).PID
		if !alive(pid) {
			t.Fatalf("plugin %s does not run", name)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		eventually(t, "the plugin is gone", func() bool { return !alive(pid) })
		if left, _ := os.ReadDir(temp); len(left) != 1 {
			t.Errorf("%d directories left by the killed host, want 1", len(left))
		}
		if d, err := os.ReadDir(temp); err == nil && len(d) == 1 && !strings.HasPrefix(d[0].Name(), roomPrefix) {
			t.Errorf("the killed host left %s", d[0].Name())
		}
		var next rooms
		if _, err := next.add(); err != nil {
			t.Fatal(err)
		}
		if err := next.close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(temp); len(left) != 0 {
			t.Errorf("the next host left %v", left)
		}
	}
}

// The directories of living hosts, and those that are not a host's, stay.
func TestSweep(t *testing.T) {
	temp := shortTemp(t)
	var living rooms
	if _, err := living.add(); err != nil {
		t.Fatal(err)
	}
	defer living.close()
	for _, dir := range []string{"dead", "unborn"} {
		if err := os.MkdirAll(filepath.Join(temp, roomPrefix+dir, "1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	filetest.Write(t, filepath.Join(temp, roomPrefix+"dead", roomLock), "")
	sweep(temp)
	for path, want := range map[string]bool{living.dir: true, filepath.Join(temp, roomPrefix+"unborn"): true, filepath.Join(temp, roomPrefix+"dead"): false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	if dir, err := living.add(); err != nil || filepath.Dir(dir) != living.dir {
		t.Errorf("%s, %v", dir, err)
	}
}

// Where the directory for temporary files has a name that is too long for a
// socket below it, /tmp is used.
func TestLongTempDir(t *testing.T) {
	temp := filepath.Join(shortTemp(t), strings.Repeat("long", 20))
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	b := newBench(t, []string{"halve"}, nil)
	rescored(t, b.rescorer("halve"), randomGames(t, 1))
	for _, v := range b.report("halve").Environ {
		if strings.HasPrefix(v, "TMPDIR=") && v != "TMPDIR="+temp {
			t.Errorf("%s, want the user's own", v)
		}
	}
}
