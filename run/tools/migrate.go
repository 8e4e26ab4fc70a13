package tools

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Rules say how the parameters of one architecture become those of another. Names
// are those of nn.Specs; a * stands for any part of a name.
type Rules struct {
	// Rename gives a parameter another name: "tower.3.*=tower.5.*" (from=to). A *
	// on the right stands for what the one on the left stood for.
	Rename []string
	Drop   []string // parameters that are left behind
	Init   []string // parameters of the new net that begin anew
}

// Move is a parameter that is carried over.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Plan says where every parameter of the new net comes from.
type Plan struct {
	From        string   `json:"from"` // architectures
	To          string   `json:"to"`
	Moved       []Move   `json:"moved"`
	Initialised []string `json:"initialised"`
	Dropped     []string `json:"dropped"`
	Problems    []string `json:"problems,omitempty"` // each with its remedy
}

// Err returns all problems as one error with exit code 2, nil where there are none.
func (p *Plan) Err() error {
	if len(p.Problems) == 0 {
		return nil
	}
	return inputError{errors.New(strings.Join(p.Problems, "\n"))}
}

// Text says for a person what becomes of the parameters and of the optimizer's moments:
// of those that are carried over it names the renamed ones, or all.
func (p *Plan) Text(moments, dropped int, all bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s -> %s: %d parameters carried over, %d drawn anew, %d left behind; %d moments kept, %d dropped\n",
		p.From, p.To, len(p.Moved), len(p.Initialised), len(p.Dropped), moments, dropped)
	for _, m := range p.Moved {
		if m.From != m.To || all {
			fmt.Fprintf(&out, "  %s -> %s\n", m.From, m.To)
		}
	}
	for _, name := range p.Initialised {
		fmt.Fprintf(&out, "  new: %s\n", name)
	}
	for _, name := range p.Dropped {
		fmt.Fprintf(&out, "  left behind: %s\n", name)
	}
	return out.String()
}

// PlanMigration matches parameters by their names, renamed ones by their new ones.
// A parameter that the new net has and the old one lacks, or has in another shape,
// is initialised only where a rule says so; one that the new net has no place for
// is left behind only where a rule says so. All problems are found at once.
func PlanMigration(from, to nn.Arch, rules Rules) *Plan {
	p := &Plan{From: from.String(), To: to.String()}
	m := migration{plan: p, old: map[string]nn.ParamSpec{}, rules: rules, used: map[string]bool{}, source: map[string]string{}}
	for _, s := range nn.Specs(from) {
		m.old[s.Name] = s
	}
	m.checkRules()
	m.rename(from)
	for _, s := range nn.Specs(to) {
		m.place(s)
	}
	for _, s := range nn.Specs(from) {
		m.leave(s)
	}
	for rule, used := range m.used {
		if !used {
			p.Problems = append(p.Problems, fmt.Sprintf("rule %s matches no parameter; chessbrain describe lists the names", rule))
		}
	}
	slices.Sort(p.Problems)
	return p
}

// migration is a plan in the making.
type migration struct {
	plan   *Plan
	old    map[string]nn.ParamSpec
	rules  Rules
	used   map[string]bool   // rules, as flags
	source map[string]string // new name -> old name
	taken  []string          // old names that were carried over
}

func (m *migration) problem(format string, args ...any) {
	m.plan.Problems = append(m.plan.Problems, fmt.Sprintf(format, args...))
}

// checkRules notes the rules and refuses patterns that mean nothing.
func (m *migration) checkRules() {
	for flag, patterns := range map[string][]string{"--drop ": m.rules.Drop, "--init ": m.rules.Init, "--rename ": m.rules.Rename} {
		for _, pattern := range patterns {
			for part := range strings.SplitSeq(pattern, "=") {
				if _, err := path.Match(part, ""); err != nil || part == "" || strings.ContainsAny(part, "?[\\/") {
					m.problem("rule %s%s: %q is no name, with or without *", flag, pattern, part)
				}
			}
			m.used[flag+pattern] = false
		}
	}
}

// matches says whether one of the patterns matches a name, and notes that it did.
func (m *migration) matches(flag string, patterns []string, name string) bool {
	found := false
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			m.used[flag+pattern], found = true, true
		}
	}
	return found
}

// rename fills source: every old parameter under its new name.
func (m *migration) rename(from nn.Arch) {
	renamed := map[string]bool{}
	for _, rule := range m.rules.Rename {
		old, fresh, ok := strings.Cut(rule, "=")
		if !ok || strings.Count(old, "*") != strings.Count(fresh, "*") || strings.Count(old, "*") > 1 {
			m.problem("rule --rename %s: want FROM=TO, with one * in both or in none", rule)
			continue
		}
		before, after, star := strings.Cut(old, "*")
		for _, s := range nn.Specs(from) {
			part, fits := strings.CutPrefix(s.Name, before)
			part, ends := strings.CutSuffix(part, after)
			if !fits || !ends || part != "" && !star {
				continue
			}
			name := strings.Replace(fresh, "*", part, 1)
			m.used["--rename "+rule] = true
			if other, taken := m.source[name]; taken {
				m.problem("rule --rename %s: %s would come from %s and from %s", rule, name, other, s.Name)
				continue
			}
			m.source[name], renamed[s.Name] = s.Name, true
		}
	}
	for _, s := range nn.Specs(from) {
		if _, taken := m.source[s.Name]; !taken && !renamed[s.Name] {
			m.source[s.Name] = s.Name
		}
	}
}

// place says where a parameter of the new net comes from.
func (m *migration) place(s nn.ParamSpec) {
	if m.matches("--init ", m.rules.Init, s.Name) {
		m.plan.Initialised = append(m.plan.Initialised, s.Name)
		return
	}
	name, ok := m.source[s.Name]
	if ok && m.matches("--drop ", m.rules.Drop, name) {
		m.problem("%s %v would come from %s, which is dropped; say --init %s, or do not drop it", s.Name, s.Shape, name, s.Name)
		return
	}
	switch old := m.old[name]; {
	case !ok:
		m.problem("%s %v is new; say --init %s, or --rename OLD=%s", s.Name, s.Shape, s.Name, s.Name)
	case !slices.Equal(old.Shape, s.Shape):
		m.problem("%s has shape %v, its source %s has %v; say --init %s", s.Name, s.Shape, name, old.Shape, s.Name)
		m.taken = append(m.taken, name) // one problem is enough
	default:
		m.plan.Moved = append(m.plan.Moved, Move{name, s.Name})
		m.taken = append(m.taken, name)
	}
}

// leave accounts for a parameter of the old net that is not carried over.
func (m *migration) leave(s nn.ParamSpec) {
	switch dropped := m.matches("--drop ", m.rules.Drop, s.Name); {
	case slices.Contains(m.taken, s.Name):
	case dropped, slices.Contains(m.plan.Initialised, s.Name): // begins anew under the same name
		m.plan.Dropped = append(m.plan.Dropped, s.Name)
	default:
		m.problem("%s %v has no place in the new net; say --drop %s, or --rename %s=NEW", s.Name, s.Shape, s.Name, s.Name)
	}
}

// Net makes the new net of a plan without problems: what is not carried over is
// drawn by seed.
func (p *Plan) Net(from *nn.Net, to nn.Arch, seed uint64) (*nn.Net, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	net := nn.Init(to, seed)
	for _, m := range p.Moved {
		src, dst := from.Get(m.From), net.Get(m.To)
		if len(src) == 0 || len(src) != len(dst) {
			return nil, fmt.Errorf("carry %s over to %s: %d numbers instead of %d", m.From, m.To, len(src), len(dst))
		}
		copy(dst, src)
	}
	return net, net.Validate()
}

// Continuation is how far the old net was trained, with the moments of the
// parameters that are carried over: none where the new configuration has another
// optimizer, or with moments false. dropped counts the moments left behind.
func (p *Plan) Continuation(c *checkpoint.Checkpoint, optimizer string, moments bool) (t *trainer.Continuation, dropped int, err error) {
	var s *trainer.SavedState
	_, err = c.Restore([]stage.Section{{Name: trainer.SectionName, Load: func(r io.Reader, version int) (err error) {
		s, err = trainer.ReadState(r, version)
		return err
	}}})
	if err != nil {
		return nil, 0, err
	}
	t = &trainer.Continuation{Steps: s.Steps, Samples: s.Samples, Moments: map[string][]float32{}}
	if !moments || s.Optimizer != optimizer {
		return t, len(s.Moments), nil
	}
	t.OptimizerSteps = s.OptimizerSteps
	to := map[string]string{}
	for _, m := range p.Moved {
		to[m.From] = m.To
	}
	for name, data := range s.Moments {
		kind, param, _ := strings.Cut(name, ".")
		if fresh, ok := to[param]; ok {
			t.Moments[kind+"."+fresh] = data
		} else {
			dropped++
		}
	}
	return t, dropped, nil
}
