package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path"
	"regexp"
	"strings"
)

// savedGames is the number of the newest games that a saved page has whole.
const savedGames = 50

// modules of the page, each after those that it takes from.
var modules = []string{"dom", "board", "chart", "overview", "games", "search", "learning", "processes", "compare", "main"}

// What ties modules to each other: a browser takes no module from a file on disk.
var (
	imports = regexp.MustCompile(`(?m)^import (\{[^}]*\}) from "\./(\w+)\.js";$`)
	exports = regexp.MustCompile(`(?m)^export (?:async )?(?:function|class|const) (\w+)`)
)

// script is the whole page's code as one script.
func script() ([]byte, error) {
	out := bytes.NewBufferString("const modules = {};\n")
	for _, name := range modules {
		code, err := page.ReadFile(path.Join("page", name+".js"))
		if err != nil {
			return nil, err
		}
		var names []string
		for _, m := range exports.FindAllSubmatch(code, -1) {
			names = append(names, string(m[1]))
		}
		code = imports.ReplaceAll(code, []byte("const $1 = modules.$2;"))
		code = bytes.ReplaceAll(code, []byte("\nexport "), []byte("\n"))
		fmt.Fprintf(out, "modules.%s = (() => {\n%s\nreturn { %s };\n})();\n", name, code, strings.Join(names, ", "))
	}
	return out.Bytes(), nil
}

// readWhole reads all metrics of a training.
func (s *Source) readWhole(ctx context.Context, training string) (l *Learning, err error) {
	c, err := s.course(training)
	for err == nil && (l == nil || l.Read < 1) {
		if l, err = s.readLearning(c); err == nil {
			err = ctx.Err()
		}
	}
	return l, err
}

// Save writes the page as one file that needs nothing else: the state, the curves, the list
// of the newest games, and some of them with their moves.
func (s *Source) Save(ctx context.Context, out io.Writer) error {
	status, err := s.Status()
	if err != nil {
		return err
	}
	first, err := s.readWhole(ctx, "")
	if err != nil {
		return err
	}
	games, err := s.Finished()
	if err != nil {
		return err
	}
	list := make([]brief, len(games))
	known := map[string]any{"/api/status": status, "/api/learning": first, "/api/games": list}
	for _, name := range first.Trainings {
		if known["/api/learning?training="+name], err = s.readWhole(ctx, name); err != nil {
			return err
		}
	}
	for i := range games {
		list[i] = briefOf(games[i].ID, &games[i].View)
		if g := games[i]; i < savedGames {
			if err := g.Spell(len(g.Moves)); err != nil {
				return err
			}
			known["/api/game?id="+g.ID] = &g
		}
	}
	answers, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("save the page: %w", err)
	}
	code, err := script()
	if err != nil {
		return fmt.Errorf("save the page: %w", err)
	}
	style, err := page.ReadFile("page/style.css")
	if err != nil {
		return fmt.Errorf("save the page: %w", err)
	}
	return s.writeIndex(out, map[string]any{"Style": template.CSS(style), "Script": template.JS(code), "Saved": template.JS(answers)})
}
