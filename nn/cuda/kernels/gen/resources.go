package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"
)

// architectures are those that printResources assembles each variant for: all with
// an allocation of registers of their own that the driver may meet.
var architectures = map[string][]string{
	"f32":  {"sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"},
	"half": {"sm_80", "sm_86", "sm_89", "sm_90"},
}

// usage is what ptxas gives a kernel, bytes a thread or (shared) a block.
type usage struct {
	kernel, arch                   string
	registers, stack, spill, share string
}

// printResources assembles the embedded modules, and prints a line a kernel. A
// kernel that spills registers is an error.
func printResources(tasks []task) error {
	if _, err := exec.LookPath("ptxas"); err != nil {
		skipped("there is no ptxas here (Debian: nvidia-cuda-toolkit in non-free)")
		return nil
	}
	results := make([][]usage, len(tasks))
	var g errgroup.Group
	g.SetLimit(jobs)
	for i, t := range tasks {
		g.Go(func() (err error) {
			results[i], err = assemble(t)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all := slices.Concat(results...)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kernel\tarch\tregisters\tstack\tspilled\tstatic shared")
	bad := 0
	for _, u := range all {
		note := ""
		if u.spill != "0" {
			note, bad = "SPILLS", bad+1
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u.kernel, u.arch, u.registers, u.stack, u.spill, u.share, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d kernels spill registers", bad)
	}
	return nil
}

// assemble runs ptxas on an embedded module for each of its architectures.
func assemble(t task) ([]usage, error) {
	text, err := readPacked(t.path())
	if err != nil {
		return nil, fmt.Errorf("%w: run go generate ./nn/cuda/kernels", err)
	}
	if entries(text) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "chessbrain-ptx")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "in.ptx")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	var all []usage
	for _, arch := range architectures[t.variant.Name] {
		out, err := exec.Command("ptxas", "-v", "-arch="+arch, "-o", os.DevNull, file).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("ptxas -arch=%s of %s: %w\n%s", arch, t.path(), err, out)
		}
		all = append(all, parseUsage(string(out), arch)...)
	}
	return all, nil
}

var (
	usedPattern  = regexp.MustCompile(`Used (\d+) registers`)
	sharePattern = regexp.MustCompile(`(\d+) bytes smem`)
	framePattern = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
)

// parseUsage reads the report of ptxas -v.
func parseUsage(report, arch string) []usage {
	var all []usage
	for _, entry := range strings.Split(report, "Compiling entry function '")[1:] {
		name, _, _ := strings.Cut(entry, "'")
		u := usage{kernel: name, arch: arch, registers: "?", spill: "?", share: "0"}
		if m := framePattern.FindStringSubmatch(entry); m != nil {
			u.stack, u.spill = m[1], m[2]
		}
		if m := usedPattern.FindStringSubmatch(entry); m != nil {
			u.registers = m[1]
		}
		if m := sharePattern.FindStringSubmatch(entry); m != nil {
			u.share = m[1]
		}
		all = append(all, u)
	}
	return all
}
