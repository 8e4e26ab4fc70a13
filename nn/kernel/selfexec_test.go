package kernel

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// emulators are QEMU's user-mode emulators by GOARCH.
var emulators = map[string]string{"arm64": "qemu-aarch64", "amd64": "qemu-x86_64"}

// selfCommand returns a command that runs this test binary with args. Under an
// emulator (go test -exec) the machine cannot start the binary itself, unless
// its binfmt_misc knows the format; then the command names the emulator.
func selfCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	err := exec.Command(os.Args[0], "-test.run=^$").Run()
	if !errors.Is(err, syscall.ENOEXEC) {
		return exec.Command(os.Args[0], args...)
	}
	emulator := emulators[runtime.GOARCH]
	if emulator == "" {
		t.Fatalf("%v, and no emulator for %s is known", err, runtime.GOARCH)
	}
	return exec.Command(emulator, append([]string{os.Args[0]}, args...)...)
}
