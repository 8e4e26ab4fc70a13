//go:build unix

package train

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestReadOnly: a run directory that cannot be written is refused with its name,
// and nothing is made. Root may write anywhere, so the child is somebody else.
func TestReadOnly(t *testing.T) {
	root, err := os.MkdirTemp("", "chessbrain test ")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(root+"/closed", 0o755); os.RemoveAll(root) })
	if err := os.Mkdir(root+"/closed", 0o555); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	if os.Getuid() == 0 {
		cmd = exec.Command(copyBinary(t, root))
		if err := os.Chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Dir = root
	cmd.Env = append(os.Environ(), childVar+"=", childDir+"="+root+"/closed/run")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "closed") || !strings.Contains(string(out), "permission denied") {
		t.Errorf("%v: %s", err, out)
	}
	if entries, err := os.ReadDir(root + "/closed"); err != nil || len(entries) > 0 {
		t.Errorf("made %v, %v", entries, err)
	}
	file := filepath.Join(root, "file")
	filetest.Write(t, file, "")
	if err := setup.DryRun(runtest.Resolve(t, file+"/run", ""), io.Discard); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a run below a file: %v", err)
	}
	if _, _, err := tryTrain(t, t.Context(), file+"/run", ""); err == nil {
		t.Error("a run below a file was begun")
	}
}

// copyBinary copies the test binary to where every user may run it.
func copyBinary(t *testing.T, dir string) string {
	t.Helper()
	in, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(dir, "child")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
