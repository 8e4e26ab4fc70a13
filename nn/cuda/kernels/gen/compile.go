package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// nvcc is the compiler: $NVCC, or that of the path.
func nvcc() string { return cmp.Or(os.Getenv("NVCC"), "nvcc") }

var versionPattern = regexp.MustCompile(`release \S+, V(\S+)`)

// compilerVersion asks nvcc, as "11.8.89".
func compilerVersion() (string, error) {
	out, err := exec.Command(nvcc(), "--version").Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no %s here (Debian: nvidia-cuda-toolkit in non-free)", nvcc())
	}
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", nvcc(), err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s --version names no version", nvcc())
	}
	return string(m[1]), nil
}

// compile returns a module's PTX under its header.
func compile(t task) ([]byte, error) {
	dir, err := os.MkdirTemp("", "chessbrain-ptx")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.ptx")
	cmd := exec.Command(nvcc(), append(t.variant.Flags(), "-I.", "-o", out, t.name+".cu")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return append([]byte(t.header), normalise(text)...), nil
}

// normalise drops what the driver does not need: comments, which name builds of
// the compiler, blank lines and indentation.
func normalise(ptx []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(ptx)) {
		if at := strings.Index(line, "//"); at >= 0 {
			line = line[:at]
		}
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

var entryPattern = regexp.MustCompile(`(?m)^\s*(?:\.visible\s+)?\.entry\s`)

// entries counts the kernels of a module.
func entries(ptx []byte) int { return len(entryPattern.FindAllIndex(ptx, -1)) }

// pack compresses; the header of gzip holds neither name nor time.
func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// readPacked returns the text of a packed module.
func readPacked(path string) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}
