package kernels

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"
)

// The embedded files: ptx/NAME.f32.ptx.gz and ptx/NAME.half.ptx.gz.
//
//go:embed ptx
var files embed.FS

// Names of modules are those of the files without .ptx.gz.
const (
	ptxSuffix  = ".ptx.gz"
	halfSuffix = ".half"
)

// entryPattern matches the name of a kernel in PTX.
var entryPattern = regexp.MustCompile(`(?m)^\s*(?:\.visible\s+)?\.entry\s+(\w+)`)

// modules lists the embedded modules, sorted.
func modules() ([]string, error) {
	list, err := files.ReadDir("ptx")
	if err != nil {
		return nil, fmt.Errorf("embedded PTX: %w", err)
	}
	var names []string
	for _, f := range list {
		if name, ok := strings.CutSuffix(f.Name(), ptxSuffix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// ptx returns the text of a module.
func ptx(module string) (text []byte, err error) {
	packed, err := files.ReadFile(path.Join("ptx", module+ptxSuffix))
	if err != nil {
		return nil, fmt.Errorf("embedded PTX: %w", err)
	}
	if text, err = unpacked(packed); err != nil {
		return nil, fmt.Errorf("embedded PTX %s: %w", module, err)
	}
	return text, nil
}

func unpacked(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// index returns which module has a kernel, by the kernel's name.
var index = sync.OnceValues(func() (map[string]string, error) {
	names, err := modules()
	if err != nil {
		return nil, err
	}
	entries := map[string]string{}
	for _, module := range names {
		text, err := ptx(module)
		if err != nil {
			return nil, err
		}
		for _, m := range entryPattern.FindAllSubmatch(text, -1) {
			entries[string(m[1])] = module
		}
	}
	return entries, nil
})
