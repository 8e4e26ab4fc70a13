package uci

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// DefaultMinibatch is how many leaves of one search a thread evaluates together.
const DefaultMinibatch = 8

// Bounds and defaults of the options.
const (
	maxLeaves         = 256
	maxThreads        = 128
	maxMultiPV        = 256
	defaultHash       = 64 // MiB of the cache of answers
	maxHash           = 16384
	bytesPerAnswer    = 220  // of the cache, see mcts.NewCache
	defaultTree       = 1024 // MiB of the search tree
	maxTree           = 32768
	nodesPerMiB       = 1024    // of the tree: a node takes up to a kilobyte, with the copy at a move
	maxReserved       = 4 << 20 // nodes of the tree, for which room is made beforehand
	defaultOverheadMS = 50
	maxOverheadMS     = 10_000
	emptyText         = "<empty>" // UCI's way to write an empty string
)

// settings are the values of the options.
type settings struct {
	filled         bool
	nodes          int // visits of a plain go
	threads        int
	minibatch      int // leaves that a thread evaluates together
	multiPV        int
	hashMiB        int
	cachePositions int
	cacheHistory   int // boards before the newest that the cache tells positions apart by
	treeMiB        int
	overheadMS     int // that may pass, on a move, between our answer and our clock's stop
	showWDL        bool
	ponder         bool // only tells the GUI that it may: go ponder works without it
	chess960       bool
	analyse        bool
	syzygyPath     string
	weightsFile    string // chosen by the GUI; "" = the net of the start
}

// fill sets the defaults, some of them those of the search; once. Options that are
// fields of c itself change it in place: a CPUCTFactor of 0 says that cpuct does not grow
// with the visits.
func (s *settings) fill(c *mcts.Config) {
	if s.filled {
		return
	}
	*s = settings{
		filled: true, nodes: max(1, c.Simulations), threads: 1, minibatch: DefaultMinibatch, multiPV: 1,
		hashMiB: defaultHash, cachePositions: answersIn(defaultHash), treeMiB: defaultTree, overheadMS: defaultOverheadMS,
	}
	s.fillSearch(c)
}

// fillSearch makes the fields of a search what the options show.
func (*settings) fillSearch(c *mcts.Config) {
	if c.CPUCTForm != mcts.CPUCTLog {
		c.CPUCTFactor = 0
	}
	c.PolicyTemperature = cmp.Or(c.PolicyTemperature, 1)
}

// answersIn returns how many positions a cache of so many MiB holds.
func answersIn(mib int) int { return mib << 20 / bytesPerAnswer }

// apply writes what the search itself has to know.
func (s *settings) apply(c *mcts.Config) {
	c.MaxNodes = s.treeMiB * nodesPerMiB
	c.CacheBoards = (s.cacheHistory + 1) % encoding.HistoryLen // 0 = all
	if c.CPUCTForm = mcts.CPUCTFlat; c.CPUCTFactor > 0 {
		c.CPUCTForm = mcts.CPUCTLog
	}
	c.FPUForm, c.RootFPUReduction = mcts.FPUReduced, c.FPUReduction
}

// setting is an option as the GUI sees it.
type setting struct {
	name string
	kind string                  // UCI's: spin, check, string, button
	now  string                  // value at present
	span string                  // of a spin: " min L max H"
	set  func(text string) error // on an error nothing is changed

	// What was made with the old value goes: the tree, the evaluators.
	remakes bool
}

// options lists all settings, in the order in which the GUI sees them.
func (e *Engine) options() []setting {
	s, c := &e.settings, &e.Search
	threads := maxThreads
	if e.Another == nil {
		threads = 1
	}
	list := []setting{
		spin("Threads", &s.threads, 1, threads).remake(),
		e.clearing(spin("Hash", &s.hashMiB, 1, maxHash), func() { s.cachePositions = answersIn(s.hashMiB) }),
		e.clearing(spin("NNCacheSize", &s.cachePositions, 0, answersIn(maxHash)), func() {}),
		e.clearing(spin("CacheHistoryLength", &s.cacheHistory, 0, encoding.HistoryLen-1), func() {}),
		{name: "Clear Hash", kind: "button", set: func(string) error { e.forget(); return nil }},
		spin("RamLimitMb", &s.treeMiB, 1, maxTree).remake(),
		spin("Nodes", &s.nodes, 1, maxNumber),
		spin("MinibatchSize", &s.minibatch, 1, maxLeaves).remake(),
		spin("MultiPV", &s.multiPV, 1, maxMultiPV),
		spin("Move Overhead", &s.overheadMS, 0, maxOverheadMS),
		number("CPuct", &c.CPUCT, 0.001, 100).remake(),
		number("CPuctBase", &c.CPUCTBase, 1, 1e9).remake(),
		number("CPuctFactor", &c.CPUCTFactor, 0, 1000).remake(),
		number("CPuctStdev", &c.CPUCTStdev, 0, 10).remake(),
		number("LCB", &c.LCB, 0, 100).remake(),
		number("FpuReduction", &c.FPUReduction, -2, 2).remake(),
		check("Gumbel", &c.Gumbel.Enabled).remake(),
		number("PolicyTemperature", &c.PolicyTemperature, 0.1, 10).remake(),
		{name: "SyzygyPath", kind: "string", now: cmp.Or(s.syzygyPath, emptyText), set: e.openTables, remakes: true},
		check("UCI_ShowWDL", &s.showWDL),
		check("Ponder", &s.ponder),
		check("UCI_AnalyseMode", &s.analyse),
		check("UCI_Chess960", &s.chess960),
	}
	if e.Open != nil {
		list = append(list, setting{name: "WeightsFile", kind: "string", now: cmp.Or(s.weightsFile, emptyText), set: e.openNet, remakes: true})
	}
	return list
}

// openNet plays with another net from now on. The options of the search are those of that
// net; a GUI that sends the default as it stands changes nothing.
func (e *Engine) openNet(file string) error {
	if file == "" || file == emptyText || file == e.settings.weightsFile {
		return nil
	}
	if err := e.Open(file); err != nil {
		return fmt.Errorf("WeightsFile: %w", err)
	}
	e.settings.weightsFile, e.warmed, e.cache = file, false, nil
	e.settings.fillSearch(&e.Search)
	return nil
}

// spin is a whole number.
func spin(name string, field *int, low, high int) setting {
	o := value(name, "spin", fmt.Sprintf("a whole number from %d to %d", low, high), field, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= low && n <= high
	})
	o.span = fmt.Sprintf(" min %d max %d", low, high)
	return o
}

// number is a real number, which UCI has as a string.
func number(name string, field *float64, low, high float64) setting {
	return value(name, "string", fmt.Sprintf("a number from %g to %g", low, high), field, func(text string) (float64, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && x >= low && x <= high
	})
}

// check is true or false.
func check(name string, field *bool) setting {
	return value(name, "check", "true or false", field, func(text string) (bool, bool) {
		return text == "true", text == "true" || text == "false"
	})
}

// value is a setting of one field, which wants what parse accepts.
func value[T any](name, kind, wants string, field *T, parse func(text string) (T, bool)) setting {
	return setting{name: name, kind: kind, now: fmt.Sprint(*field), set: func(text string) error {
		v, ok := parse(text)
		if !ok {
			return fmt.Errorf("%s wants %s, not %q", name, wants, text)
		}
		*field = v
		return nil
	}}
}

// clearing returns a setting as one that the remembered answers depend on; also is
// done when it was set.
func (e *Engine) clearing(o setting, also func()) setting {
	set := o.set
	o.set = func(text string) error {
		err := set(text)
		if err == nil {
			also()
			e.cache = nil
		}
		return err
	}
	return o.remake()
}

// remake returns the setting as one that changes what was made with the old value.
func (o setting) remake() setting { o.remakes = true; return o }

// identify answers uci.
func (e *Engine) identify() {
	e.say("id name %s", e.Name)
	e.say("id author the chessbrain team")
	for _, o := range e.options() {
		text := "option name " + o.name + " type " + o.kind
		if o.kind != "button" {
			text += " default " + o.now + o.span
		}
		e.say("%s", text)
	}
	e.say("uciok")
}

// setOption takes "name N value V".
func (e *Engine) setOption(args []string) error {
	text, ok := strings.CutPrefix(strings.Join(args, " "), "name ")
	if !ok {
		return fmt.Errorf("setoption wants name NAME value VALUE, not %q", strings.Join(args, " "))
	}
	name, value, _ := strings.Cut(text, " value")
	return e.Set(strings.TrimSpace(name), strings.TrimSpace(value))
}

// Set sets an option by its name, in any case; it ends a search under way. What a
// GUI sends as setoption can be set before Serve with it.
func (e *Engine) Set(name, value string) error {
	e.settings.fill(&e.Search)
	for _, o := range e.options() {
		if !strings.EqualFold(o.name, name) {
			continue
		}
		e.stop()
		if err := o.set(value); err != nil {
			return err
		}
		if o.remakes {
			e.ready = false
		}
		return nil
	}
	return fmt.Errorf("no option %q; uci lists those there are", name)
}
