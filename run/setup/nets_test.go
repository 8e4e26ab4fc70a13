package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn"
)

// A net's file that is cut says that it is damaged and why, and nothing of other formats.
func TestDamagedNet(t *testing.T) {
	arch, err := nn.ParseArch("8x1")
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := nn.WriteSafetensors(&whole, nn.Init(arch, 1), nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"in the data":   {whole.Bytes()[:whole.Len()-9], "cut: the safetensors file is damaged, put it back from a copy: read net: tensor file, byte "},
		"in the header": {whole.Bytes()[:99], "cut: the safetensors file is damaged, put it back from a copy: read net: tensor file, byte "},
		"in the length": {whole.Bytes()[:7], "cut: neither Leela's .pb.gz nor safetensors of ours, name another file: read net: tensor file, byte "},
		"a text":        {[]byte("plugins { sampler { name: 'x' } }"), "cut: neither Leela's .pb.gz nor safetensors of ours, name another file: read net: tensor file, byte "},
		"of others":     {append([]byte{16, 0, 0, 0, 0, 0, 0, 0}, "{              }"...), "cut: neither Leela's .pb.gz nor safetensors of ours, name another file: read net: "},
	} {
		path := filepath.Join(t.TempDir(), "cut")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadNet(path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
