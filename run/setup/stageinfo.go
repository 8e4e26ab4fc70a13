package setup

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// StageInfo says what stands behind a stage.
type StageInfo struct {
	Kind    stage.Kind
	Name    string
	Version string // "" = a program that was not started to be asked
	Path    string // of the program; "" = built in
	SHA256  string // of the program, hexadecimal
}

// String returns "sampler uniform 1.0.0 (built in)", or the program's path and hash.
func (i StageInfo) String() string {
	text := string(i.Kind) + " " + i.Name
	if i.Version != "" {
		text += " " + i.Version
	}
	if i.Path == "" {
		return text + " (built in)"
	}
	return fmt.Sprintf("%s (%s, SHA-256 %s)", text, i.Path, i.SHA256)
}

// Infos says what stands behind each stage: rescorers, sampler, exporter.
func (s *Stages) Infos() (infos []StageInfo) {
	for _, kind := range kinds {
		infos = append(infos, s.infosOf(kind)...)
	}
	return infos
}

// infosOf says it of the stages of a kind.
func (s *Stages) infosOf(kind stage.Kind) []StageInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[kind].infos
}

// Log writes a line for each stage.
func (s *Stages) Log(log *slog.Logger) {
	for _, i := range s.Infos() {
		if i.Path == "" {
			log.Info("stage", "kind", string(i.Kind), "name", i.Name, "version", i.Version, "program", "built in")
		} else {
			log.Info("stage", "kind", string(i.Kind), "name", i.Name, "version", i.Version, "program", i.Path, "sha256", i.SHA256)
		}
	}
}

// DescribeTo writes a line for each stage, as dry runs do, and warns of programs
// that have the name of a built-in stage.
func (s *Stages) DescribeTo(w io.Writer) {
	for _, i := range s.Infos() {
		fmt.Fprintf(w, "stage: %s\n", i)
		if i.Path != "" && s.Host().HasBuiltin(i.Kind, i.Name) {
			fmt.Fprintf(w, "warning: %s %s: the program %s takes the place of the built-in one, if it is a %s\n", i.Kind, i.Name, i.Path, i.Kind)
		}
	}
}

// describe returns infos in one line.
func describe(infos []StageInfo) string {
	var parts []string
	for _, i := range infos {
		parts = append(parts, i.String())
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}
