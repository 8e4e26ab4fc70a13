//go:build chessbrain_cuda

package driver_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/checked"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// As in cuda_test.go, these tests hold for a GPU and for the fake one.

// TestGPUGoMemory: memory of Go is read before a copy returns, and filled when one
// returns, without a Synchronize.
func TestGPUGoMemory(t *testing.T) {
	d, _ := openGPU(t)
	const n = 300_000 // more than a driver stages at once
	s, p := must(d.NewStream()), must(d.Alloc(n))
	src, dst := make([]byte, n), make([]byte, n)
	for round := range byte(3) {
		for i := range src {
			src[i] = byte(i) * (round + 1)
		}
		if err := s.CopyToDevice(p, src); err != nil {
			t.Fatal(err)
		}
		clear(src)
		if err := s.CopyToHost(dst, p); err != nil {
			t.Fatal(err)
		}
		for i := range dst {
			if dst[i] != byte(i)*(round+1) {
				t.Fatalf("round %d: byte %d is %d, want %d", round, i, dst[i], byte(i)*(round+1))
			}
		}
	}
	if err := errors.Join(s.Destroy(), d.Free(p)); err != nil {
		t.Error(err)
	}
}

// TestGPUEnds: what is used after its end is an error of that call. A destroyed
// stream does not become the default one, a second Close takes no context from others.
func TestGPUEnds(t *testing.T) {
	d, other := must(driver.Open(0)), must(driver.Open(0))
	m := must(d.Load("add", []byte(addPTX)))
	f := must(m.Function("add"))
	s, p := must(d.NewStream()), must(d.Alloc(64))
	if err := errors.Join(s.Memset(p, 0, 64), s.Destroy()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"copy": s.CopyToDevice(p, make([]byte, 4)), "set": s.Memset(p, 0, 4), "wait": s.Synchronize(), "destroy": s.Destroy(),
		"launch":  s.Launch(f, dim(1, 1, 1), dim(32, 1, 1), 0, bytesOf(&addArgs{p, p, 1, 0})),
		"capture": s.BeginCapture(),
	} {
		if err == nil || !strings.Contains(err.Error(), "the stream is destroyed") {
			t.Errorf("%s on a destroyed stream: %v", what, err)
		}
	}
	if err := errors.Join(d.Free(p), m.Unload(), d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if _, err := d.Alloc(64); err == nil || !strings.Contains(err.Error(), "the device is closed") {
		t.Errorf("a call after Close: %v", err)
	}
	q, err := other.Alloc(64)
	if err == nil {
		err = other.Free(q)
	}
	if err = errors.Join(err, other.Close()); err != nil {
		t.Errorf("the other user of the device: %v", err)
	}
	again, f := openGPU(t) // on threads that still have the old context
	if err := work(again, f, 1); err != nil {
		t.Errorf("after all have closed the device: %v", err)
	}
}

// TestGPUTwo works on two devices at the same time, from the same threads.
func TestGPUTwo(t *testing.T) {
	if n, err := driver.Count(); err != nil || n < 2 {
		t.Skipf("!!! SKIPPED: %d devices (%v), two are needed", n, err)
	}
	var devices [2]driver.Device
	var functions [2]driver.Function
	for i := range devices {
		if info, err := driver.Describe(i); err != nil || info.Ordinal != i || info.Name == "" {
			t.Errorf("device %d: %+v, %v", i, info, err)
		}
		devices[i] = checked.Device(must(driver.Open(i)))
		m := must(devices[i].Load("add", []byte(addPTX)))
		functions[i] = must(m.Function("add"))
		t.Cleanup(func() {
			if err := errors.Join(m.Unload(), devices[i].Close()); err != nil {
				t.Error(err)
			}
		})
	}
	for round := range int32(10) {
		for i, d := range devices {
			if err := work(d, functions[i], round); err != nil {
				t.Fatalf("device %d: %v", i, err)
			}
			if err := fromPeer(d, devices[1-i], byte(round)); err != nil {
				t.Fatalf("device %d from the other: %v", i, err)
			}
		}
	}
}

// fromPeer copies from one device to another and compares.
func fromPeer(d, peer driver.Device, value byte) error {
	const n = 300_000
	there, s, p, src := must(peer.NewStream()), must(d.NewStream()), must(d.Alloc(n)), must(peer.Alloc(n+512))
	got := make([]byte, n)
	if err := errors.Join(there.Memset(src, value, n), there.Memset(src.Offset(n), ^value, 512), there.Synchronize(),
		s.CopyFromPeer(p, peer, src.Offset(512), n), s.CopyFromPeer(p, peer, src, 0), s.CopyToHost(got, p), s.Synchronize()); err != nil {
		return err
	}
	if want := append(bytes.Repeat([]byte{value}, n-512), bytes.Repeat([]byte{^value}, 512)...); !bytes.Equal(got, want) {
		return fmt.Errorf("copied %v... and %v, want %v and %v", got[:3], got[n-3:], want[:3], want[n-3:])
	}
	return errors.Join(there.Destroy(), s.Destroy(), d.Free(p), peer.Free(src))
}

// inProcess runs the calling test in a process of its own, with role in $GPU_TEST_ROLE,
// and returns what that printed; "" within that process.
func inProcess(t *testing.T, role string, env ...string) string {
	t.Helper()
	if os.Getenv("GPU_TEST_ROLE") == role {
		return ""
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(append(os.Environ(), "GPU_TEST_ROLE="+role), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", role, err, out)
	}
	return string(out)
}

// TestGPUFault: after a kernel's fault every call fails with it, none waits for ever,
// and everything can be given back without a further word.
func TestGPUFault(t *testing.T) {
	if inProcess(t, "fault") != "" {
		return
	}
	d := must(driver.Open(0))
	m := must(d.Load("add", []byte(addPTX)))
	f, s, p, h := must(m.Function("add")), must(d.NewStream()), must(d.Alloc(64)), must(d.AllocHost(64))
	const nowhere = driver.Ptr(64)
	if err := s.Launch(f, dim(1, 1, 1), dim(32, 1, 1), 0, bytesOf(&addArgs{nowhere, p, 1, 0})); err != nil {
		t.Fatal(err)
	}
	wait, copies := s.Synchronize(), s.CopyToDevice(p, h.Bytes())
	_, allocate := d.Alloc(64)
	for i, err := range []error{wait, copies, allocate} {
		if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS: ") || !strings.Contains(err.Error(), "cannot use cuda:0 any more") {
			t.Errorf("call %d after a fault: %v", i, err)
		}
	}
	if err := errors.Join(d.Free(p), m.Unload(), s.Destroy(), h.Free(), d.Close()); err != nil {
		t.Errorf("giving back after a fault: %v", err)
	}
}

// TestGPUNone: a program without devices, or with a driver that does not start, says
// so when a device is asked for, and not before.
func TestGPUNone(t *testing.T) {
	switch os.Getenv("GPU_TEST_ROLE") {
	case "":
		inProcess(t, "hidden", "CUDA_VISIBLE_DEVICES=-1")
		if os.Getenv("FAKE_CUDA_DEVICES") != "" {
			inProcess(t, "mismatch", "FAKE_CUDA_INIT=803")
		}
	case "hidden":
		if n, err := driver.Count(); n != 0 || err != nil {
			t.Errorf("%d devices, %v", n, err)
		}
		if _, err := driver.Open(0); !errors.Is(err, driver.ErrNoDevice) {
			t.Errorf("Open: %v", err)
		}
	case "mismatch":
		n, err := driver.Count()
		_, open := driver.Open(0)
		for _, err := range []error{err, open} {
			if n != 0 || err == nil || !strings.Contains(err.Error(), "the NVIDIA driver does not start") || !strings.Contains(err.Error(), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH") {
				t.Errorf("%d devices, %v", n, err)
			}
		}
	}
}
