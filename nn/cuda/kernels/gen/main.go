// Gen compiles the CUDA kernels of a folder to PTX for embedding: ptx/NAME.f32.ptx.gz
// and ptx/NAME.half.ptx.gz, the same bytes on every machine with the same nvcc. It
// writes args.go too, the argument structs of args.cuh, attention_args.cuh and tower_args.cuh in Go.
//
//	go run ./gen               write what is not up to date (go generate)
//	go run ./gen -check        compile all again and compare
//	go run ./gen -resources    registers, spills and shared memory of each kernel
//
// Without nvcc of the version that the repository uses, nothing is written or
// compared but args.go, and the last lines say so.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/nn/cuda/kernels/gen/source"
)

func main() {
	check := flag.Bool("check", false, "compare with what a fresh compilation gives; exit 1 where it differs")
	resources := flag.Bool("resources", false, "print what each kernel needs; exit 1 where one spills registers")
	flag.Parse()
	var err error
	if !*resources {
		err = writeMirror(*check)
	}
	if err == nil {
		err = run(*check, *resources)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

// jobs is how many compilations run at a time.
const jobs = 2

// task is one module to compile.
type task struct {
	name    string
	variant source.Variant
	header  string
}

// path returns the file of the module: in ptx, of tests beside the source.
func (t task) path() string {
	file := t.name + "." + t.variant.Name + ".ptx.gz"
	if t.name == primitives {
		return file
	}
	return filepath.Join("ptx", file)
}

// primitives is what tests run on a GPU to see that the emulator is right of it.
const primitives = "testdata/primitives"

// run does what the flags say in the current folder.
func run(check, resources bool) error {
	tasks, err := list()
	if err != nil {
		return err
	}
	if resources {
		return printResources(tasks)
	}
	version, err := compilerVersion()
	if err != nil {
		skipped(err.Error())
		return nil
	}
	if version != source.Compiler {
		skipped(fmt.Sprintf("nvcc is version %s, the embedded PTX is of %s", version, source.Compiler))
		return nil
	}
	var g errgroup.Group
	g.SetLimit(jobs)
	for _, t := range tasks {
		g.Go(func() error { return generate(t, check) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := leftovers(tasks, check); err != nil {
		return err
	}
	if check {
		fmt.Printf("kernels: %d modules are what nvcc %s makes of the sources\n", len(tasks), version)
	}
	return nil
}

// list makes the tasks of the files in this folder.
func list() ([]task, error) {
	names, err := source.Files(".")
	if err != nil {
		return nil, err
	}
	var tasks []task
	for _, name := range append(names, primitives) {
		for _, v := range source.Variants {
			if name == primitives && v.Name != "half" {
				continue
			}
			header, err := source.Header(".", name, v)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, task{name, v, header})
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no .cu file here: run it in nn/cuda/kernels")
	}
	return tasks, nil
}

// generate compiles a module where the file that is there has another header, or with
// check in any case, to compare. A source without a kernel for the variant has an empty
// module, so that it is known.
func generate(t task, check bool) error {
	old, missing := readPacked(t.path())
	if !check && missing == nil && bytes.HasPrefix(old, []byte(t.header)) {
		return nil
	}
	text, err := compile(t)
	if err != nil {
		return err
	}
	if check {
		if missing != nil || !bytes.Equal(old, text) {
			return fmt.Errorf("%s is not what the sources give: run go generate ./nn/cuda/kernels", t.path())
		}
		return nil
	}
	packed, err := pack(text)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d kernels, %d bytes, %d packed\n", t.path(), entries(text), len(text), len(packed))
	return os.WriteFile(t.path(), packed, 0o666)
}

// leftovers removes modules without a source, or with check fails on them.
func leftovers(tasks []task, check bool) error {
	known := map[string]bool{}
	for _, t := range tasks {
		known[t.path()] = true
	}
	found, err := filepath.Glob(filepath.Join("ptx", "*.ptx.gz"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if known[path] {
			continue
		}
		if check {
			return fmt.Errorf("%s has no source: run go generate ./nn/cuda/kernels", path)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// skipped says loudly that the PTX was not looked at.
func skipped(why string) {
	fmt.Printf("!!!\n!!! SKIPPED: the CUDA kernels were not compiled: %s\n!!!\n", why)
}
