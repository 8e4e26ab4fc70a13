//go:build unix

package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run/cycle"
)

// browser is a headless Chromium behind the pipe of its DevTools protocol.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	calls   int
	trouble []string // errors of the page, and requests to others than address
	address string
}

// message is what goes through the pipe, both ways.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// openBrowser starts a browser with an empty page; without one the test is skipped.
func openBrowser(t *testing.T, address string) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes long under the race detector")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("there is no chromium here: the page is not drawn")
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	command.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, to: to, from: bufio.NewReader(from), address: address}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil)
		if err := command.Wait(); err != nil {
			t.Logf("the browser ended: %v", err)
		}
		to.Close()
		from.Close()
	})
	theirIn.Close()
	theirOut.Close()
	from.SetReadDeadline(time.Now().Add(5 * time.Minute)) // a browser that hangs fails the test
	var target struct{ TargetID string }
	b.into(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.into(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Runtime", "Log", "Network", "Page"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// call gives a command and returns its result; what the page does meanwhile is noted.
func (b *browser) call(method string, params any) json.RawMessage {
	b.t.Helper()
	b.calls++
	text, err := json.Marshal(message{ID: b.calls, Session: b.session, Method: method, Params: params})
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	for err == nil {
		var line []byte
		if line, err = b.from.ReadBytes(0); err != nil {
			break
		}
		var m message
		if err = json.Unmarshal(line[:len(line)-1], &m); err != nil {
			break
		}
		if m.Method != "" {
			b.note(m.Method, line[:len(line)-1])
		}
		if m.ID == b.calls {
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
	b.t.Fatalf("%s: %v", method, err)
	return nil
}

func (b *browser) into(v any, method string, params any) {
	b.t.Helper()
	if err := json.Unmarshal(b.call(method, params), v); err != nil {
		b.t.Fatal(err)
	}
}

// note keeps what must not happen.
func (b *browser) note(method string, line []byte) {
	var m struct {
		Params struct {
			Type  string
			Entry struct{ Level, Text, URL string }
			// ExceptionDetails is of an error that nobody caught.
			ExceptionDetails struct {
				Text      string
				Exception struct{ Description string }
			}
			Request struct{ URL string }
		}
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	p := &m.Params
	switch {
	case method == "Runtime.exceptionThrown":
		b.trouble = append(b.trouble, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case method == "Runtime.consoleAPICalled" && p.Type == "error", method == "Log.entryAdded" && p.Entry.Level == "error":
		b.trouble = append(b.trouble, p.Entry.Text+" "+p.Entry.URL)
	case method == "Network.requestWillBeSent" && !strings.HasPrefix(p.Request.URL, b.address) && !strings.HasPrefix(p.Request.URL, "blob:"+b.address):
		b.trouble = append(b.trouble, "asked for "+p.Request.URL)
	}
}

// eval evaluates an expression in the page.
func (b *browser) eval(expression string) (value any) {
	b.t.Helper()
	var r struct{ Result struct{ Value any } }
	b.into(&r, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	return r.Result.Value
}

// until waits until an expression holds in the page.
func (b *browser) until(expression string) {
	b.t.Helper()
	for range 800 {
		if b.eval(expression) == true {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("never true: %s; the page has %.2000v", expression, b.eval("document.body.innerText"))
}

// key presses a key.
func (b *browser) key(name string, code int) {
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code})
	}
	if name == "Enter" {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": "char", "key": name, "text": "\r"})
	}
}

// TestBrowser paints every page of a real run in a real browser, wide and narrow, light and
// dark, and uses it by keyboard alone: no error, no request to anybody else, nothing that
// is wider than the window.
func TestBrowser(t *testing.T) {
	s := open(t)
	address := serve(t, s, open(t))
	games, err := s.Finished()
	if err != nil {
		t.Fatal(err)
	}
	underWay := games[0].View
	underWay.Result, underWay.End = "*", ""
	s.playing.value = append(s.playing.value, underWay, games[1].View) // as if one were under way and the other just over
	s.playing.at = time.Now().AddDate(1000, 0, 0)
	status, err := s.Status()
	if err != nil {
		t.Fatal(err)
	}
	done := *status // as that of a loop that has ended
	done.Loop = &cycle.LoopStatus{Cycle: 6, Cycles: 5, Next: cycle.SelfPlay, Stopped: "5 cycles done (--cycles 5)"}
	s.status.value, s.status.at = &done, time.Now().AddDate(1000, 0, 0)
	b := openBrowser(t, address)
	painted := map[string]string{
		"overview": `document.querySelectorAll('.tile').length > 2 && document.querySelector('.tile').innerText.startsWith('done') &&
			document.body.innerText.includes('done: 5 cycles done (--cycles 5)') && !document.body.innerText.includes('nobody works on it')`,
		"games": fmt.Sprintf(`document.querySelectorAll('.mini svg.board use').length > 8 && document.querySelectorAll('tbody tr').length == 8 &&
			[...document.querySelectorAll('.mini')].map((b) => b.matches('.over') + b.innerText.split('\n').at(-1)).join() == 'falseply %d,trueover: %s %s'`,
			len(underWay.Moves), games[1].Result, games[1].End),
		"search":    "document.querySelectorAll('tbody tr').length == 22 && document.querySelectorAll('.arrow').length > 0",
		"learning":  "document.querySelectorAll('.chart path.curve').length > 6 && document.body.innerText.includes('of mine')",
		"compare":   "document.body.innerText.includes('Settings that differ') && document.querySelectorAll('.chart path.curve').length > 10",
		"processes": "document.body.innerText.includes('None works on this run now')",
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1280, 360} {
			b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500})
			b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
			for name, done := range painted {
				b.call("Page.navigate", map[string]any{"url": fmt.Sprintf("%s/?%s%d%s#%s", address, scheme, width, name, name)})
				b.until(done)
				t.Logf("%s, %s, %d pixels: first paint after %.0f ms", name, scheme, width, b.eval("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"))
				if b.eval("document.documentElement.scrollWidth > innerWidth") != false {
					t.Errorf("%s is wider than %d pixels", name, width)
				}
			}
		}
	}

	// By keyboard: to the second page, to a game of the list, and back through its moves.
	b.call("Page.navigate", map[string]any{"url": address + "/?keys#overview"})
	b.until("document.querySelectorAll('.tile').length > 2")
	for b.eval("document.activeElement.textContent") != "Games" {
		b.key("Tab", 9)
	}
	b.key("Enter", 13)
	b.until("location.hash == '#games' && document.querySelectorAll('tbody tr').length == 8")
	for b.eval("document.activeElement.tagName") != "TR" {
		b.key("Tab", 9)
	}
	b.key("Enter", 13)
	b.until("document.querySelectorAll('.viewer .moves button').length > 0")
	b.eval("document.querySelector('.viewer [tabindex]').focus()")
	at := fmt.Sprintf("[...document.querySelectorAll('.moves button')].findIndex((b) => b.ariaCurrent == 'true') == %d", len(games[0].Moves)-2)
	b.key("ArrowLeft", 37)
	b.until(at)
	b.eval("document.querySelector('.controls a').click()")
	b.until("location.hash.startsWith('#search') && document.querySelectorAll('tbody tr').length > 2")

	// The moves that the page plays by itself lead where the rules do.
	for _, g := range games {
		start, moves := fmt.Sprintf("%q", g.Start), strings.Join(g.Moves, " ")
		got := b.eval(fmt.Sprintf(`import("/page/board.js").then(({Position}) => {
			const p = new Position(%s);
			%q.split(" ").forEach((m) => p.play(m));
			const same = new Position(%q);
			return JSON.stringify(p) === JSON.stringify(same);
		})`, start, moves, g.FEN))
		if got != true {
			t.Errorf("game %d: the page ends elsewhere than %s (%v)", g.Game, g.FEN, got)
		}
	}
	// The page saved whole, from a file.
	saved := filepath.Join(t.TempDir(), "report.html")
	var text bytes.Buffer
	if err := s.Save(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, saved, text.Bytes())
	b.address = "file://" + saved
	for name, done := range painted {
		switch name {
		case "games":
			done = "document.querySelectorAll('tbody tr').length == 8"
		case "search", "compare":
			continue
		}
		b.call("Page.navigate", map[string]any{"url": fmt.Sprintf("%s?%s#%s", b.address, name, name)})
		b.until(done)
	}
	b.call("Page.navigate", map[string]any{"url": b.address + "?game#games"})
	b.until("document.querySelectorAll('tbody tr').length == 8")
	b.eval("document.querySelector('tbody tr').click()")
	b.until("document.querySelectorAll('.viewer .moves button').length > 0")
	if slices.Sort(b.trouble); len(b.trouble) > 0 {
		t.Errorf("in the browser:\n%s", strings.Join(slices.Compact(b.trouble), "\n"))
	}
}

// TestPictures draws the pages of a run whose page is at WATCH_ADDRESS into the directory
// WATCH_PICTURES: scripts/watch_pictures.sh.
func TestPictures(t *testing.T) {
	address, directory := os.Getenv("WATCH_ADDRESS"), os.Getenv("WATCH_PICTURES")
	if address == "" || directory == "" {
		t.Skip("no address of a page, or no directory for its pictures")
	}
	b := openBrowser(t, strings.TrimSuffix(address, "/"))
	for _, p := range []struct {
		name, hash, scheme, done string
		width, height            int
	}{
		{"overview", "overview", "light", "document.querySelectorAll('.tile').length > 2", 1280, 800},
		{"games", "games", "light", "document.querySelectorAll('.mini svg.board use').length > 40 && document.querySelectorAll('tbody tr').length > 8", 1280, 900},
		{"search", "search/startpos moves e2e4 c7c5 g1f3", "light", "document.querySelectorAll('.arrow').length > 0", 1280, 800},
		{"learning", "learning", "dark", "document.querySelectorAll('.chart path.curve').length > 6 && !document.body.innerText.includes('metrics are read')", 1280, 1000},
		{"compare", "compare", "light", "document.querySelectorAll('.chart path.curve').length > 10 && !document.body.innerText.includes('metrics are read') || document.body.innerText.includes('One run is watched')", 1280, 1000},
		{"processes", "processes", "light", "document.querySelectorAll('td').length > 8", 1280, 800},
		{"narrow", "games", "dark", "document.querySelectorAll('.mini svg.board use').length > 40", 360, 780},
	} {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": p.width, "height": p.height, "deviceScaleFactor": 1, "mobile": false})
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": p.scheme}}})
		b.call("Page.navigate", map[string]any{"url": b.address + "/?" + p.name + "#" + p.hash})
		b.until(p.done)
		var shot struct{ Data []byte }
		b.into(&shot, "Page.captureScreenshot", map[string]any{"format": "png"})
		filetest.Write(t, filepath.Join(directory, "watch-"+p.name+".png"), shot.Data)
	}
}
