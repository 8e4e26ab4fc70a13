package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// theirs returns the text of CUDA's header of the version that the kernels are compiled with,
// or skips.
func theirs(t *testing.T) string {
	t.Helper()
	for _, home := range []string{os.Getenv("CUDA_HOME"), "/usr/local/cuda", "/opt/cuda", "/usr"} {
		path := filepath.Join(home, "include", "cuda.h")
		if text, err := os.ReadFile(path); home != "" && err == nil && strings.Contains(string(text), "#define CUDA_VERSION 11080") {
			return path
		}
	}
	t.Skip("!!! SKIPPED: no cuda.h of CUDA 11.8 here, that of the GPU build is NOT COMPARED with it")
	return ""
}

// TestHeader holds cuda/cuda.h against CUDA's own: numbers, structs field by field, functions and
// the versions of their symbols.
func TestHeader(t *testing.T) {
	path := theirs(t)
	ours, err := os.ReadFile("cuda/cuda.h")
	if err != nil {
		t.Fatal(err)
	}
	var c strings.Builder
	fmt.Fprintf(&c, "#include \"%s\"\n#define CUDA_FUNCTION(name, ...) CUresult name(__VA_ARGS__)\n", path)
	numbers, fields := 0, 0
	for _, m := range regexp.MustCompile(`\b(CU\w+) = (\d+)`).FindAllStringSubmatch(string(ours), -1) {
		fmt.Fprintf(&c, "_Static_assert(%s == %s, \"\");\n", m[1], m[2])
		numbers++
	}
	for _, m := range regexp.MustCompile(`(?m)^#define (CU\w+) (.*)$`).FindAllStringSubmatch(string(ours), -1) {
		fmt.Fprintf(&c, "_Static_assert((long)%s == (long)%s, \"\");\n", m[1], m[2])
	}
	for _, m := range regexp.MustCompile(`(?ms)^typedef struct (CUDA_\w+)_st \{$(.*?)^\} `).FindAllStringSubmatch(string(ours), -1) {
		fmt.Fprintf(&c, "struct our_%s {%s};\n_Static_assert(sizeof(struct our_%[1]s) == sizeof(%[1]s), \"\");\n", m[1], m[2])
		for _, f := range regexp.MustCompile(`\b(\w+)[,;]`).FindAllStringSubmatch(m[2], -1) {
			fmt.Fprintf(&c, "_Static_assert(__builtin_offsetof(struct our_%s, %s) == __builtin_offsetof(%[1]s, %[2]s), \"\");\n", m[1], f[1])
			fields++
		}
	}
	functions := regexp.MustCompile(`(?m)^CUDA_FUNCTION\(.*$`).FindAllString(string(ours), -1)
	c.WriteString(strings.Join(functions, "\n") + "\n")
	versions := regexp.MustCompile(`(?m)^#define (cu\w+) (cu\w+)$`).FindAllStringSubmatch(string(ours), -1)
	if numbers < 250 || fields < 80 || len(functions) < 160 || len(versions) < 50 {
		t.Errorf("read %d numbers, %d fields, %d functions and %d versions", numbers, fields, len(functions), len(versions))
	}
	file := filepath.Join(t.TempDir(), "compare.c")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-fsyntax-only", "-Wall", "-Werror", file).CombinedOutput(); err != nil {
		t.Errorf("cuda/cuda.h is not as %s: %v\n%s", path, err, out)
	}
	var names, symbols []string
	for _, m := range versions {
		names, symbols = append(names, m[1]), append(symbols, m[2])
	}
	cmd := exec.Command("gcc", "-E", "-P", "-include", path, "-")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
	out, err := cmd.Output()
	if words := strings.Fields(string(out)); err != nil || len(words) < len(symbols) || !slices.Equal(words[len(words)-len(symbols):], symbols) {
		t.Errorf("names are %q, want %q: %v", words[max(0, len(words)-len(symbols)):], symbols, err)
	}
}
