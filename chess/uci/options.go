package uci

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/mcts"
)

// Bounds and defaults of the options.
const (
	defaultLeaves     = 8 // of one search that a thread evaluates together
	maxLeaves         = 256
	maxThreads        = 128
	maxMultiPV        = 256
	defaultHash       = 64 // MiB of the cache of answers
	maxHash           = 16384
	bytesPerAnswer    = 220  // of the cache, see mcts.NewCache
	defaultTree       = 1024 // MiB of the search tree
	maxTree           = 32768
	nodesPerMiB       = 1024 // of the tree: a node takes up to a kilobyte, with the copy at a move
	defaultOverheadMS = 50
	maxOverheadMS     = 10_000
	emptyText         = "<empty>" // UCI's way to write an empty string
)

// settings are the values of the options.
type settings struct {
	filled            bool
	nodes             int // visits of a plain go
	threads           int
	minibatch         int // leaves that a thread evaluates together
	multiPV           int
	hashMiB           int
	cachePositions    int
	treeMiB           int
	overheadMS        int
	cpuct             float64
	cpuctBase         float64
	cpuctFactor       float64 // 0 = cpuct does not grow with the visits
	fpu               float64 // reduction, at the root too
	gumbel            bool    // where visits alone end a search
	policyTemperature float64
	showWDL           bool
	ponder            bool // only tells the GUI that it may: go ponder works without it
	chess960          bool
	analyse           bool
	syzygyPath        string
}

// fill sets the defaults, some of them those of the search; once.
func (s *settings) fill(c *mcts.Config) {
	if s.filled {
		return
	}
	*s = settings{
		filled: true, nodes: max(1, c.Simulations), threads: 1, minibatch: defaultLeaves, multiPV: 1,
		hashMiB: defaultHash, cachePositions: answersIn(defaultHash), treeMiB: defaultTree, overheadMS: defaultOverheadMS,
		cpuct: c.CPUCT, cpuctBase: c.CPUCTBase, fpu: c.FPUReduction, gumbel: c.Gumbel.Enabled, policyTemperature: 1,
	}
	if c.CPUCTForm == mcts.CPUCTLog {
		s.cpuctFactor = c.CPUCTFactor
	}
}

// answersIn returns how many positions a cache of so many MiB holds.
func answersIn(mib int) int { return mib << 20 / bytesPerAnswer }

// overhead returns what may pass, on a move, between our answer and our clock's
// stop.
func (s *settings) overhead() time.Duration { return time.Duration(s.overheadMS) * time.Millisecond }

// leaves returns how many leaves of one search are evaluated together.
func (s *settings) leaves() int { return s.minibatch * s.threads }

// apply writes what the search itself has to know.
func (s *settings) apply(c *mcts.Config) {
	c.MaxNodes = s.treeMiB * nodesPerMiB
	c.CPUCT, c.CPUCTForm = s.cpuct, mcts.CPUCTFlat
	if s.cpuctFactor > 0 {
		c.CPUCTForm, c.CPUCTBase, c.CPUCTFactor = mcts.CPUCTLog, s.cpuctBase, s.cpuctFactor
	}
	c.Gumbel.Enabled = s.gumbel
	c.FPUForm, c.FPUReduction, c.RootFPUReduction = mcts.FPUReduced, s.fpu, s.fpu
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
	s := &e.settings
	threads := maxThreads
	if e.Another == nil {
		threads = 1
	}
	return []setting{
		spin("Threads", &s.threads, 1, threads).remake(),
		e.clearing(spin("Hash", &s.hashMiB, 1, maxHash), func() { s.cachePositions = answersIn(s.hashMiB) }),
		e.clearing(spin("NNCacheSize", &s.cachePositions, 0, answersIn(maxHash)), func() {}),
		{name: "Clear Hash", kind: "button", set: func(string) error { e.forget(); return nil }},
		spin("RamLimitMb", &s.treeMiB, 1, maxTree).remake(),
		spin("Nodes", &s.nodes, 1, maxNumber),
		spin("MinibatchSize", &s.minibatch, 1, maxLeaves).remake(),
		spin("MultiPV", &s.multiPV, 1, maxMultiPV),
		spin("Move Overhead", &s.overheadMS, 0, maxOverheadMS),
		number("CPuct", &s.cpuct, 0.001, 100).remake(),
		number("CPuctBase", &s.cpuctBase, 1, 1e9).remake(),
		number("CPuctFactor", &s.cpuctFactor, 0, 1000).remake(),
		number("FpuReduction", &s.fpu, -2, 2).remake(),
		check("Gumbel", &s.gumbel).remake(),
		e.clearing(number("PolicyTemperature", &s.policyTemperature, 0.1, 10), func() {}),
		{name: "SyzygyPath", kind: "string", now: textOf(s.syzygyPath), set: e.openTables, remakes: true},
		check("UCI_ShowWDL", &s.showWDL),
		check("Ponder", &s.ponder),
		check("UCI_AnalyseMode", &s.analyse),
		check("UCI_Chess960", &s.chess960),
	}
}

// spin is a whole number.
func spin(name string, field *int, low, high int) setting {
	return setting{name: name, kind: "spin", now: strconv.Itoa(*field), span: fmt.Sprintf(" min %d max %d", low, high), set: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%s wants a whole number from %d to %d, not %q", name, low, high, text)
		}
		*field = n
		return nil
	}}
}

// number is a real number, which UCI has as a string.
func number(name string, field *float64, low, high float64) setting {
	return setting{name: name, kind: "string", now: strconv.FormatFloat(*field, 'g', -1, 64), set: func(text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= low && x <= high) {
			return fmt.Errorf("%s wants a number from %g to %g, not %q", name, low, high, text)
		}
		*field = x
		return nil
	}}
}

// check is true or false.
func check(name string, field *bool) setting {
	return setting{name: name, kind: "check", now: strconv.FormatBool(*field), set: func(text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("%s wants true or false, not %q", name, text)
		}
		*field = text == "true"
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

// textOf writes a string as UCI does.
func textOf(text string) string {
	if text == "" {
		return emptyText
	}
	return text
}

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
			e.search = nil
		}
		return nil
	}
	return fmt.Errorf("no option %q; uci lists those there are", name)
}
