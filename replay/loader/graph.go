package loader

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// node is a stage of the graph with its edges.
type node struct {
	index  int // in Config.Stages
	config *StageConfig
	kind   *kind
	ports  []string // names of the outputs; one empty name where there is only one
	inputs []port
	out    []anyQueue // beside ports
	stage  Stage
}

// port is one output of a stage.
type port struct {
	node *node
	i    int // in node.ports
}

// String returns the name by which inputs refer to the port: "split.train".
func (p port) String() string {
	if name := p.node.ports[p.i]; name != "" {
		return p.node.config.Name + "." + name
	}
	return p.node.config.Name
}

// graph is the checked configuration.
type graph struct {
	nodes   []*node // in topological order, ties in the order of the config
	outputs []port
}

var namePattern = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

// newGraph checks a configuration and connects the stages. The error joins a
// *ConfigError for each fault.
func newGraph(c *Config) (*graph, error) {
	g := &graph{}
	var bad []error
	complain := func(i int, remedy, format string, args ...any) {
		e := &ConfigError{Index: i, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
		if i >= 0 {
			e.Stage = c.Stages[i].Name
		}
		bad = append(bad, e)
	}
	byName := g.addNodes(c, complain)
	if len(c.Stages) == 0 {
		complain(-1, "add stages, or take another training source", "no stages")
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...) // edges of such nodes would only bring further complaints
	}
	readers := map[port]string{}
	take := func(i int, reader string, p port) {
		if other, taken := readers[p]; taken {
			complain(i, "an output has one reader: split it with a chunk_source_splitter", "reads %q, which %s reads too", p, other)
		}
		readers[p] = reader
	}
	for _, n := range g.nodes {
		n.connect(byName, complain, take)
	}
	g.addOutputs(c, byName, complain, take)
	for _, n := range g.nodes {
		for i := range n.ports {
			if p := (port{n, i}); readers[p] == "" {
				complain(n.index, "name it in the input of a stage or in output, or remove the stage", "nobody reads %q", p)
			}
		}
	}
	if len(bad) == 0 {
		g.sort(complain)
	}
	return g, errors.Join(bad...)
}

type complainFunc func(stage int, remedy, format string, args ...any)

// addNodes makes a node of each stage and returns them by name.
func (g *graph) addNodes(c *Config, complain complainFunc) map[string]*node {
	byName := map[string]*node{}
	for i := range c.Stages {
		s := &c.Stages[i]
		k, err := kindOf(s)
		if err != nil {
			complain(i, "", "%v", err)
			continue
		}
		n := &node{index: i, config: s, kind: k, ports: []string{""}}
		if k.ports != nil {
			if n.ports, err = k.ports(s); err != nil {
				complain(i, "", "%v", err)
			}
		}
		if first, twice := byName[s.Name]; twice {
			complain(i, "give each stage its own name", "duplicate name: stage number %d has it too", first.index+1)
		} else if !namePattern.MatchString(s.Name) {
			complain(i, "a name has 1 to 40 of a-z 0-9 _ -", "bad name %q", s.Name)
		}
		if s.Output.Capacity < 1 {
			complain(i, "at least 1 is needed", "queue capacity %d", s.Output.Capacity)
		}
		byName[s.Name] = n
		g.nodes = append(g.nodes, n)
	}
	return byName
}

// connect looks up the inputs of a node.
func (n *node) connect(byName map[string]*node, complain complainFunc, take func(int, string, port)) {
	names := n.config.Inputs
	switch {
	case n.kind.in == Nothing && len(names) > 0:
		complain(n.index, "remove its input", "a %s has no input", n.kind.name)
		return
	case n.kind.in != Nothing && len(names) == 0:
		complain(n.index, "add input: the name of a stage that gives "+n.kind.in.String(), "missing input: a %s reads %s", n.kind.name, n.kind.in)
	case len(names) > 1 && !n.kind.manyIn:
		complain(n.index, "frames of several stages are merged by join_positions", "%d inputs, a %s has one", len(names), n.kind.name)
	}
	for _, name := range names {
		p, err := find(byName, name)
		if err != nil {
			complain(n.index, "", "missing input: %v", err)
			continue
		}
		if got := p.node.kind.out; got != n.kind.in {
			complain(n.index, "", "type mismatch: input %q gives %s, a %s reads %s", name, got, n.kind.name, n.kind.in)
		}
		take(n.index, fmt.Sprintf("stage %q", n.config.Name), p)
		n.inputs = append(n.inputs, p)
	}
}

// addOutputs looks up the outputs of the whole graph.
func (g *graph) addOutputs(c *Config, byName map[string]*node, complain complainFunc, take func(int, string, port)) {
	if len(c.Outputs) == 0 {
		complain(-1, "add output: the name of a tensor_generator", "no output")
	}
	for _, name := range c.Outputs {
		p, err := find(byName, name)
		if err != nil {
			complain(-1, "", "unknown output: %v", err)
			continue
		}
		if got := p.node.kind.out; got != Batches {
			complain(-1, "name a tensor_generator", "type mismatch: output %q gives %s, wanted are batches", name, got)
		}
		take(-1, "the trainer", p)
		g.outputs = append(g.outputs, p)
	}
}

// find returns the port that a reference "stage" or "stage.port" names.
func find(byName map[string]*node, ref string) (port, error) {
	name, portName, _ := strings.Cut(ref, ".")
	n := byName[name]
	if n == nil {
		return port{}, fmt.Errorf("there is no stage %q; known: %s", name, strings.Join(portNames(byName), ", "))
	}
	i := slices.Index(n.ports, portName)
	if i < 0 {
		return port{}, fmt.Errorf("%q names no output of stage %q; known: %s", ref, name, strings.Join(portNames(map[string]*node{name: n}), ", "))
	}
	return port{n, i}, nil
}

// portNames returns all that a reference can name, sorted.
func portNames(byName map[string]*node) []string {
	var names []string
	for _, n := range byName {
		for i := range n.ports {
			names = append(names, port{n, i}.String())
		}
	}
	slices.Sort(names)
	return names
}

// sort orders the nodes so that each comes after those it reads, and complains
// about a circle.
func (g *graph) sort(complain complainFunc) {
	var sorted []*node
	for rest := slices.Clone(g.nodes); len(rest) > 0; {
		i := slices.IndexFunc(rest, func(n *node) bool {
			return !slices.ContainsFunc(n.inputs, func(p port) bool { return slices.Contains(rest, p.node) })
		})
		if i < 0 {
			const remedy = "data go one way: change the input of one of the stages"
			complain(rest[0].index, remedy, "its inputs lead back to itself")
			return
		}
		sorted = append(sorted, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	g.nodes = sorted
}
