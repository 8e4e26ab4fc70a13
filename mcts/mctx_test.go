package mcts

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

// mctxNode is a node of the golden trees of google-deepmind/mctx. Values are
// those of a single agent with rewards: V(parent) looks at r + discount*V.
type mctxNode struct {
	Action          int
	EvaluationIndex int     `json:"evaluation_index"`
	Prior           float64 `json:"prior"`
	RawValue        float64 `json:"raw_value_view"`
	Value           float64 `json:"value_view"`
	Reward          float64
	Visit           int
	Children        []mctxNode `json:"child_stats"`
}

type mctxTree struct {
	Config struct {
		GumbelScale float64 `json:"gumbel_scale"`
		Considered  int     `json:"max_num_considered_actions"`
		Init        float64 `json:"pb_c_init"`
		Base        float64 `json:"pb_c_base"`
		Transform   struct {
			MaxVisitInit float64 `json:"maxvisit_init"`
			Rescale      bool    `json:"rescale_values"`
			ValueScale   float64 `json:"value_scale"`
		} `json:"qtransform_kwargs"`
	} `json:"algorithm_config"`
	Env  struct{ Discount float64 } `json:"env_config"`
	Tree mctxNode
}

// agent searches a recorded tree with the package's own formulas: nodes and
// edges are those of a Search, but backups know rewards and a discount. The
// edge's q is the reward and the discounted value of the child.
type agent struct {
	choose   func(i int32) int // the edge of node i that a simulation takes
	discount float64
	t        *tree
	from     []*mctxNode // the recording of each node
	value    []float64   // mean value of each node
	reward   []float64   // on the way into each node
	order    []*mctxNode // as they were expanded
}

// expand returns the new node, or none if the recording never expanded it.
func (a *agent) expand(from *mctxNode) int32 {
	if len(from.Children) == 0 {
		return none
	}
	i := a.t.addNode()
	a.t.addMoves(i, make([]chess.Move, len(from.Children)))
	n := &a.t.nodes[i]
	n.kind, n.n, n.rawQ = kindExpanded, 1, float32(from.RawValue)
	for k := range from.Children {
		a.t.choicesOf(n)[k].prior = float32(from.Children[k].Prior)
	}
	a.from, a.value, a.reward = append(a.from, from), append(a.value, from.RawValue), append(a.reward, from.Reward)
	a.order = append(a.order, from)
	return i
}

// simulate expands one more node and backs its value up; it returns false if
// the recording has no such node.
func (a *agent) simulate() bool {
	var path []step
	i := int32(0)
	for {
		k := a.choose(i)
		path = append(path, step{i, int32(k)})
		e := *a.t.at(path[len(path)-1])
		if e.child == none {
			child := a.expand(&a.from[i].Children[e.index])
			if child == none {
				return false
			}
			a.t.at(path[len(path)-1]).child = child
			i = child
			break
		}
		i = e.child
	}
	v := a.value[i]
	for k := len(path) - 1; k >= 0; k-- {
		p, e := path[k].node, a.t.at(path[k])
		v = a.reward[e.child] + a.discount*v
		a.value[p] = (a.value[p]*float64(a.t.nodes[p].n) + v) / float64(a.t.nodes[p].n+1)
		a.t.nodes[p].n++
		e.n++
		e.q = float32(a.reward[e.child] + a.discount*a.value[e.child])
	}
	return true
}

// run searches until all simulations are done, or the recording ends.
func (a *agent) run(simulations int) {
	for k := 0; k < simulations && a.simulate(); k++ {
	}
}

// gumbelAgent searches with the settings of a recording, its root open for so
// many simulations.
func gumbelAgent(golden *mctxTree, simulations int) *agent {
	a := &agent{discount: golden.Env.Discount, t: &tree{}}
	g, x := &gumbel{}, &golden.Config.Transform
	g.GumbelConfig = (GumbelConfig{Enabled: true, Candidates: golden.Config.Considered, Scale: golden.Config.GumbelScale,
		ValueScale: x.ValueScale, MaxVisitInit: x.MaxVisitInit, Rescale: x.Rescale})
	a.expand(&golden.Tree)
	a.t.openRoot()
	g.root.draw(len(golden.Tree.Children), 0, nil)
	g.root.open(a.t.edgesOf(&a.t.nodes[0]), g.Candidates, simulations)
	a.choose = func(i int32) int {
		n := &a.t.nodes[i]
		if i == 0 {
			return g.selectRoot(n.rawQ, a.t.edgesOf(n))
		}
		return g.selectEdge(a.t, n)
	}
	a.run(simulations)
	return a
}

// puctAgent searches as MuZero does, through selectEdge: its exploration is
//
//	(init + ln((N+base+1)/base)) * sqrt(N),  N = the node's own visits,
//
// which is the package's with base+1, init + ln((base+1)/base), factor 1 and
// one visit more in the node. Its Q is stretched to [0,1] between the smallest
// and the largest of the node's value and its moves' values, and a move without
// visits has the smallest: an absolute FPU of 0.
func puctAgent(golden *mctxTree, simulations int) *agent {
	base := golden.Config.Base
	cfg := Config{CPUCTForm: CPUCTLog, CPUCT: golden.Config.Init + math.Log((base+1)/base), CPUCTBase: base + 1,
		CPUCTFactor: 1, FPUForm: FPUAbsolute}
	s := New(&cfg, nil)
	s.t.reset()
	s.puct = newPUCT(&cfg)
	a := &agent{discount: golden.Env.Discount, t: s.t}
	a.expand(&golden.Tree)
	a.choose = func(i int32) int {
		n := &s.t.nodes[i]
		low, high := a.value[i], a.value[i]
		for _, e := range s.t.edgesOf(n) {
			if e.n > 0 {
				low, high = math.Min(low, float64(e.q)), math.Max(high, float64(e.q))
			}
		}
		plain := slices.Clone(s.t.edgesOf(n)) // q as it is, by action
		for k := range s.t.edgesOf(n) {
			e := &s.t.edgesOf(n)[k]
			e.q = float32((float64(e.q) - low) / math.Max(high-low, 1e-8))
		}
		n.n++
		k := s.selectEdge(i)
		n.n--
		for at := range s.t.edgesOf(n) { // which stand in another order now
			e := &s.t.edgesOf(n)[at]
			e.q = 0
			if old := slices.IndexFunc(plain, func(p edge) bool { return p.index == e.index }); old >= 0 {
				e.q = plain[old].q
			}
		}
		return k
	}
	a.run(simulations)
	return a
}

// compare checks node i against its recording, and all below.
func (a *agent) compare(t *testing.T, i int32) {
	t.Helper()
	n, want := &a.t.nodes[i], a.from[i]
	if int(n.n) != want.Visit || math.Abs(a.value[i]-want.Value) > 1e-3 {
		t.Errorf("node %d: %d visits of value %v, want %d of %v", i, n.n, a.value[i], want.Visit, want.Value)
	}
	if a.order[want.EvaluationIndex] != want {
		t.Errorf("node %d was not evaluation %d", i, want.EvaluationIndex)
	}
	visits, expanded := 0, 0
	for _, e := range a.t.edgesOf(n) {
		if e.child != none {
			a.compare(t, e.child)
			expanded++
		}
		visits += int(e.n)
	}
	for k := range want.Children {
		if len(want.Children[k].Children) > 0 {
			expanded--
		}
	}
	if visits != want.Visit-1 || expanded != 0 {
		t.Errorf("node %d: its actions have %d visits, and %+d are expanded that should not", i, visits, expanded)
	}
}

// recording reads a golden tree of mctx.
func recording(t *testing.T, name string) *mctxTree {
	t.Helper()
	text, err := os.ReadFile(golden.Path(t, "mctx", name))
	if err != nil {
		t.Fatal(err)
	}
	golden := &mctxTree{}
	if err := json.Unmarshal(text, golden); err != nil {
		t.Fatal(err)
	}
	if golden.Tree.Visit != mctxSimulations+1 || len(golden.Tree.Children) != 18 {
		t.Fatalf("not the recording that is known: %d visits, %d actions", golden.Tree.Visit, len(golden.Tree.Children))
	}
	return golden
}

const mctxSimulations = 50

func TestGoldenTreesOfMctx(t *testing.T) {
	for _, tc := range []struct {
		name    string
		run     func(*mctxTree, int) *agent
		changes map[string]func(*mctxTree) // controls, with which the search must leave the recording
	}{
		{"gumbel_reward_tree.json", gumbelAgent, map[string]func(*mctxTree){
			"candidates":  func(g *mctxTree) { g.Config.Considered = 4 },
			"value scale": func(g *mctxTree) { g.Config.Transform.ValueScale = 0.5 },
			"rescale":     func(g *mctxTree) { g.Config.Transform.Rescale = true },
			"discount":    func(g *mctxTree) { g.Env.Discount = -1 },
		}},
		{"puct_tree.json", puctAgent, map[string]func(*mctxTree){
			"cpuct":    func(g *mctxTree) { g.Config.Init = 2.5 },
			"discount": func(g *mctxTree) { g.Env.Discount = -1 },
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			golden := recording(t, tc.name)
			a := tc.run(golden, mctxSimulations)
			if len(a.order) != mctxSimulations+1 {
				t.Fatalf("expansion %d is none that was recorded", len(a.order))
			}
			a.compare(t, 0)
			for name, change := range tc.changes {
				other := *golden
				change(&other)
				if n := len(tc.run(&other, mctxSimulations).order); n == mctxSimulations+1 {
					t.Errorf("another %s and still the recorded tree", name)
				}
			}
		})
	}
}
