// Package source knows the .cu files of nn/cuda/kernels: how each is compiled,
// and a stamp of everything that its PTX depends on. The generator writes the
// stamp into the PTX; a test that needs no compiler compares it with the sources.
package source

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Variant is one way to compile a .cu file.
type Variant struct {
	Name   string // the file is ptx/NAME.<Name>.ptx.gz
	Define string // what the source asks for
	Arch   string // for nvcc -arch
	Target string // as in PTX
}

// Variants are the two of every file: fp32 and kernels without a storage type on
// any card, bf16 and fp16 on cards with tensor cores for both.
var Variants = []Variant{
	{Name: "f32", Define: "F32", Arch: "compute_60", Target: "sm_60"},
	{Name: "half", Define: "HALF", Arch: "compute_80", Target: "sm_80"},
}

// Compiler is the version of nvcc that writes the PTX; ISA is the version of PTX
// that it writes, which drivers from 520 on read.
const (
	Compiler = "11.8.89"
	ISA      = "7.8"
)

// Flags returns the arguments for nvcc that matter to its output.
func (v Variant) Flags() []string {
	return []string{"-std=c++17", "-ptx", "-D" + v.Define, "-arch=" + v.Arch}
}

// Files lists the .cu files of a folder without their suffix, sorted.
func Files(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.cu"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(p), ".cu"))
	}
	return names, nil
}

// Header returns the first lines of a module's PTX: the compiler's version and a
// hash of the flags, the file and what it includes.
func Header(dir, name string, v Variant) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, v.Flags())
	seen := map[string]bool{}
	if err := walk(dir, name+".cu", seen, func(text []byte) { h.Write(text) }); err != nil {
		return "", fmt.Errorf("stamp of %s: %w", name, err)
	}
	return fmt.Sprintf("// %s.cu: nvcc %s %s\n// sources %x\n", name, Compiler, strings.Join(v.Flags(), " "), h.Sum(nil)[:16]), nil
}

var includePattern = regexp.MustCompile(`(?m)^\s*#\s*include\s+"([^"]+)"`)

// emulator is what only a host compiler includes.
const emulator = "emulated.h"

// walk visits a file and, where they are named, the files that it includes, once each.
func walk(dir, file string, seen map[string]bool, visit func([]byte)) error {
	if seen[file] || file == emulator {
		return nil
	}
	seen[file] = true
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	visit(text)
	for _, m := range includePattern.FindAllSubmatch(text, -1) {
		if err := walk(dir, string(m[1]), seen, visit); err != nil {
			return err
		}
	}
	return nil
}
