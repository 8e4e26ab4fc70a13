// Package configs holds the recipes of this folder inside the program: a recipe is a
// configuration of a run that is known to work, with what to expect of it.
package configs

import (
	"embed"
	"strings"
)

//go:embed *.textproto
var files embed.FS

// Files that are no recipes.
const (
	Models  = "models"  // model kinds for --net
	Example = "example" // every key with its default
)

const suffix = ".textproto"

// Recipe is one of the recipes.
type Recipe struct {
	Name    string
	About   string // the first sentence of its comment
	Command string // of chessbrain: run or train
}

// Recipes returns them all by name.
func Recipes() (all []Recipe) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), suffix)
		if name == Models || name == Example {
			continue
		}
		text, _ := Text(name)
		r := Recipe{Name: name, About: about(text), Command: "train"}
		if strings.Contains(text, "\n#   chessbrain run ") {
			r.Command = "run"
		}
		all = append(all, r)
	}
	return all
}

// about returns the first sentence of a text's comment, or what stands before its colon.
func about(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		for word := range strings.FieldsSeq(comment) {
			if end := strings.TrimRight(word, ".:"); end != word {
				return strings.Join(append(words, end), " ")
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// Text returns a file by its name without the suffix.
func Text(name string) (text string, ok bool) {
	data, err := files.ReadFile(name + suffix)
	return string(data), err == nil
}
