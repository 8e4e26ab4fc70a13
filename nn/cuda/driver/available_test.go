package driver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAvailable looks for a driver and a device below a made-up root.
func TestAvailable(t *testing.T) {
	const usual = "usr/lib/x86_64-linux-gnu/libcuda.so.1"
	for _, c := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		ok    bool
		want  string
	}{
		{"all there", map[string]string{usual: "", "dev/nvidia0": ""}, nil, true, usual},
		{"another number", map[string]string{usual: "", "dev/nvidia3": ""}, nil, true, "dev/nvidia3"},
		{"WSL", map[string]string{"usr/lib/wsl/lib/libcuda.so.1": "", "dev/dxg": ""}, nil, true, "dev/dxg"},
		{"by the loader's cache", map[string]string{"opt/n/libcuda.so.1": "", "dev/nvidia0": "", "etc/ld.so.cache": "ld.so-1.7.0\x00\x03libcuda.so.1\x00/gone/libcuda.so.1\x00/opt/n/libcuda.so.1\x00"}, nil, true, "opt/n/libcuda.so.1"},
		{"by LD_LIBRARY_PATH", map[string]string{"x/libcuda.so.1": "", "dev/nvidia0": ""}, map[string]string{"LD_LIBRARY_PATH": "/none::/x"}, true, "x/libcuda.so.1"},
		{"one chosen", map[string]string{usual: "", "dev/nvidia0": ""}, map[string]string{"CUDA_VISIBLE_DEVICES": "1,0"}, true, usual},
		{"nothing", nil, nil, false, "no NVIDIA driver"},
		{"only the stub for linking", map[string]string{"usr/lib/x86_64-linux-gnu/stubs/libcuda.so": "", "dev/nvidia0": ""}, nil, false, "no NVIDIA driver"},
		{"no device", map[string]string{usual: "", "dev/nvidiactl": "", "dev/nvidia-uvm": ""}, nil, false, "no device node"},
		{"all hidden", map[string]string{usual: "", "dev/nvidia0": ""}, map[string]string{"CUDA_VISIBLE_DEVICES": ""}, false, "hides all devices"},
		{"one chosen by its UUID", map[string]string{usual: "", "dev/nvidia0": ""}, map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"}, true, usual},
		{"a part of one", map[string]string{usual: "", "dev/nvidia0": ""}, map[string]string{"CUDA_VISIBLE_DEVICES": "MIG-9a1b/1/0"}, true, usual},
		{"all hidden by a word", map[string]string{usual: "", "dev/nvidia0": ""}, map[string]string{"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, false, "hides all devices"},
		{"all hidden by -1", map[string]string{usual: "", "dev/nvidia0": ""}, map[string]string{"CUDA_VISIBLE_DEVICES": "-1"}, false, "CUDA_VISIBLE_DEVICES=-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range c.files {
				path = filepath.Join(root, path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			ok, said := available(root, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
			if ok != c.ok || !strings.Contains(said, c.want) {
				t.Errorf("%v, %q; want %v, %q", ok, said, c.ok, c.want)
			}
		})
	}
	if ok, said := Available(); said == "" {
		t.Errorf("Available on this machine: %v without a word", ok)
	}
}
