package watch

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/record"
)

// The page: modules and styles as a browser takes them, and a template around them.
//
//go:embed page
var page embed.FS

var index = template.Must(template.ParseFS(page, "page/index.html"))

// policy of the page: all that it needs comes from here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	liveEvery  = time.Second     // between two looks at the games under way
	statusLook = 2               // looks at the games to one at the status
	sendWithin = 5 * time.Second // or a reader that does not take what it asked for is left
)

// Handler answers a browser: the page at /, and what it draws as JSON below /api/. Nothing
// changes the run but orders, where they are allowed: the caller must ask for a token then.
// The page compares the run with others.
func Handler(s *Source, others ...*Source) (http.Handler, error) {
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.Handle("GET /page/", http.StripPrefix("/page", http.FileServerFS(files)))
	runs := append([]*Source{s}, others...)
	of := func(ask func(*Source, *http.Request) (any, error)) http.HandlerFunc {
		return answer(func(r *http.Request) (any, error) {
			s, err := runOf(r, runs)
			if err != nil {
				return nil, err
			}
			return ask(s, r)
		})
	}
	mux.HandleFunc("GET /api/status", of(func(s *Source, _ *http.Request) (any, error) { return s.Status() }))
	mux.HandleFunc("GET /api/learning", of(func(s *Source, r *http.Request) (any, error) { return s.Learning(r.FormValue("training")) }))
	mux.HandleFunc("GET /api/runs", answer(func(*http.Request) (any, error) { return compare(runs) }))
	mux.HandleFunc("GET /api/playing", of((*Source).game))
	mux.HandleFunc("GET /api/games", of((*Source).list))
	mux.HandleFunc("GET /api/game", of((*Source).finishedGame))
	mux.HandleFunc("GET /api/nets", of(func(s *Source, _ *http.Request) (any, error) { return s.Nets(), nil }))
	mux.HandleFunc("GET /api/think", of((*Source).thought))
	mux.HandleFunc("GET /api/live", s.live)
	mux.HandleFunc("GET /api/orders", answer(func(*http.Request) (any, error) { return s.opt.Orders, nil }))
	if s.opt.Orders {
		order := answer(s.order)
		mux.HandleFunc("POST /api/orders", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // programs of stages may take a minute to open; not every writer has one
			order(w, r)
		})
	}
	return guarded(mux), nil
}

// guarded says in each answer what a browser may do with it, and gives nothing to a page from
// elsewhere that asks in its reader's name.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "asked for by another site", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// index is the page.
func (s *Source) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = s.writeIndex(w, map[string]any{}) // the reader is gone
}

// writeIndex writes the page, with the status as text for a browser that runs no scripts.
// more has the parts of a page that is saved whole.
func (s *Source) writeIndex(out io.Writer, more map[string]any) error {
	var text bytes.Buffer
	status, err := s.Status()
	if err == nil {
		err = status.Write(&text)
	}
	if err != nil {
		text.WriteString(err.Error())
	}
	more["Run"], more["Version"], more["Status"] = s.opt.Dir.Root, s.opt.Version, text.String()
	return index.Execute(out, more)
}

// answer makes a handler of a question.
func answer(ask func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := ask(r)
		code := http.StatusOK
		if err != nil {
			code, v = http.StatusInternalServerError, map[string]string{"error": err.Error()}
			if _, wrong := errors.AsType[*QuestionError](err); wrong {
				code = http.StatusBadRequest
			}
		}
		text, err := json.Marshal(v)
		if err != nil {
			code, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(text) // the reader is gone
	}
}

// brief is a game in a list or on a small board.
type brief struct {
	ID      string            `json:"id,omitempty"`
	Process string            `json:"process,omitempty"`
	Game    uint64            `json:"game"`
	Net     string            `json:"net"`
	FEN     string            `json:"fen"`
	Plies   int               `json:"plies"`
	Last    string            `json:"last,omitempty"`
	Opening string            `json:"opening,omitempty"`
	Value   *record.WhiteView `json:"value"` // the newest that is known
	Result  string            `json:"result"`
	End     string            `json:"end,omitempty"`
}

// openingPlies is how much of a game a list shows.
const openingPlies = 10

func briefOf(id string, v *record.View) brief {
	b := brief{ID: id, Process: v.Process, Game: v.Game, Net: v.Net, FEN: v.FEN, Plies: len(v.Moves), Result: v.Result, End: v.End,
		Opening: strings.Join(v.SAN, " ")}
	if len(v.Moves) > 0 {
		b.Last = v.Moves[len(v.Moves)-1]
	}
	for i := len(v.Values) - 1; i >= 0 && b.Value == nil; i-- {
		b.Value = v.Values[i]
	}
	return b
}

// game is a game under way, whole.
func (s *Source) game(r *http.Request) (any, error) {
	ordinal, err := strconv.ParseUint(r.FormValue("game"), 10, 64)
	if err != nil {
		return nil, &QuestionError{"game: want a number"}
	}
	games, err := s.Playing()
	for i := range games {
		if v := games[i]; v.Game == ordinal && v.Process == r.FormValue("process") {
			return &v, v.Spell(len(v.Moves))
		}
	}
	if err == nil {
		err = &QuestionError{fmt.Sprintf("game %d is over", ordinal)}
	}
	return nil, err
}

// list is the list of finished games.
func (s *Source) list(*http.Request) (any, error) {
	games, err := s.Finished()
	list := make([]brief, len(games))
	for i := range games {
		list[i] = briefOf(games[i].ID, &games[i].View)
	}
	return list, err
}

// finishedGame is a finished game, whole.
func (s *Source) finishedGame(r *http.Request) (any, error) {
	games, err := s.Finished()
	for i := range games {
		if g := games[i]; g.ID == r.FormValue("id") {
			return &g, g.Spell(len(g.Moves))
		}
	}
	if err == nil {
		err = &QuestionError{fmt.Sprintf("game %q is not among the newest %d", r.FormValue("id"), listedGames)}
	}
	return nil, err
}

// thought is what a net thinks of a position.
func (s *Source) thought(r *http.Request) (any, error) {
	visits, err := strconv.Atoi(r.FormValue("visits"))
	if err != nil {
		return nil, &QuestionError{"visits: want a number"}
	}
	return s.Think(r.Context(), Question{Net: r.FormValue("net"), Position: r.FormValue("position"), Visits: visits})
}

// live sends games and status as server-sent events until the reader goes.
func (s *Source) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		err := s.send(w, out, "games", func() (any, error) {
			games, err := s.Playing()
			list := make([]brief, len(games))
			for i := range games {
				list[i] = briefOf("", &games[i])
			}
			return list, err
		})
		if err == nil && n%statusLook == 0 {
			err = s.send(w, out, "status", func() (any, error) { return s.Status() })
		}
		if err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// send writes one event.
func (s *Source) send(w http.ResponseWriter, out *http.ResponseController, name string, ask func() (any, error)) error {
	v, err := ask()
	if err != nil {
		name, v = "trouble", err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("event %s: %w", name, err)
	}
	if err := out.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return fmt.Errorf("event %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text); err != nil {
		return fmt.Errorf("event %s: %w", name, err)
	}
	return out.Flush()
}
