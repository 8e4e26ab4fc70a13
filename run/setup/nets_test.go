package setup

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// A net's file that is cut says that it is damaged and why, and nothing of other formats.
func TestDamagedNet(t *testing.T) {
	arch := nntest.Named("8x1")
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
		filetest.Write(t, path, c.data)
		if _, err := ReadNet(path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// A net's name chooses of its heads, in files of ours as in Leela's, and says which are left.
func TestNamedHeads(t *testing.T) {
	arch := nntest.Named("8x1x1h-soft-q-st")
	n := nn.Init(arch, 1)
	var ours, leelas bytes.Buffer
	if err := errors.Join(nn.WriteSafetensors(&ours, n, nil), lc0.WriteNet(&leelas, n, nil, lc0.Float32)); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{"n.safetensors": ours.Bytes(), "n.pb.gz": leelas.Bytes()} {
		path := filepath.Join(t.TempDir(), file)
		filetest.Write(t, path, data)
		all, meta, err := ReadNetFile(path)
		if err != nil || !all.Arch.Equal(arch) || meta[MetaOtherHeads] != "" {
			t.Fatalf("%s: %v, without %q", file, err, meta[MetaOtherHeads])
		}
		one, meta, err := ReadNetFile(path + ":policy=soft:value=q")
		if err != nil || one.Arch.String() != "8x1x1h" || meta[MetaOtherHeads] != "policy vanilla, value winner, value st" {
			t.Fatalf("%s: %v, without %q", file, err, meta[MetaOtherHeads])
		}
		if !slices.Equal(one.Get("policy.q.weight"), n.Get("policy.soft.q.weight")) || !slices.Equal(one.Get("value.fc2.bias"), n.Get("value.q.fc2.bias")) {
			t.Errorf("%s: not the heads that were chosen", file)
		}
		if _, err := ReadNet(path + ":policy=opponent"); err == nil || !strings.Contains(err.Error(), "the net has vanilla, soft") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
