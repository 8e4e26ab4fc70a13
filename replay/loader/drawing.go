package loader

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// Drawing is the graph for looking at.
type Drawing struct {
	Nodes []DrawnNode `json:"nodes"` // each after those it reads
	Edges []DrawnEdge `json:"edges"`
}

// DrawnNode is a stage, or an output of the loader.
type DrawnNode struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // "" = an output of the loader
	Column int    `json:"column"` // longest way from a stage without input
	Row    int    `json:"row"`    // among those of its column
}

// DrawnEdge is a queue.
type DrawnEdge struct {
	From  int    `json:"from"` // in Nodes
	To    int    `json:"to"`
	Port  string `json:"port,omitempty"` // of a stage with several outputs
	Type  string `json:"type"`
	Queue string `json:"queue"` // "4 BLOCK"
}

// Drawing returns the graph.
func (l *Loader) Drawing() Drawing {
	d, at := Drawing{}, map[*node]int{}
	rows := map[int]int{}
	add := func(name, kind string, inputs []port) int {
		column := 0
		for _, p := range inputs {
			column = max(column, d.Nodes[at[p.node]].Column+1)
		}
		to := len(d.Nodes)
		for _, p := range inputs {
			q := p.node.config.Output
			d.Edges = append(d.Edges, DrawnEdge{From: at[p.node], To: to, Port: p.node.ports[p.i], Type: p.node.kind.out.String(),
				Queue: fmt.Sprintf("%d %s", q.Capacity, q.Overflow)})
		}
		d.Nodes = append(d.Nodes, DrawnNode{Name: name, Kind: kind, Column: column, Row: rows[column]})
		rows[column]++
		return to
	}
	for _, n := range l.graph.nodes {
		at[n] = add(n.config.Name, n.kind.name, n.inputs)
	}
	for i, p := range l.graph.outputs {
		add(fmt.Sprintf("output %d", i+1), "", []port{p})
	}
	return d
}

// Dot returns the graph in the language of Graphviz.
func (d Drawing) Dot() string {
	var b strings.Builder
	b.WriteString("digraph data_loader {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n")
	for i, n := range d.Nodes {
		if n.Kind == "" {
			fmt.Fprintf(&b, "  n%d [label=%q, shape=ellipse];\n", i, n.Name)
		} else {
			fmt.Fprintf(&b, "  n%d [label=%q];\n", i, n.Name+"\n"+n.Kind)
		}
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "  n%d -> n%d [label=%q];\n", e.From, e.To, strings.Join(e.labels(), "\n"))
	}
	b.WriteString("}\n")
	return b.String()
}

func (e DrawnEdge) labels() []string {
	what := e.Type
	if e.Port != "" {
		what = e.Port + ": " + e.Type
	}
	return []string{what, e.Queue}
}

// Sizes of the SVG form, in pixels.
const (
	boxWidth, boxHeight   = 170, 44
	cellWidth, cellHeight = 290, 80
	margin                = 20
)

// SVG returns the graph as a picture that needs no other program.
func (d Drawing) SVG() string {
	columns, rows := 0, 0
	for _, n := range d.Nodes {
		columns, rows = max(columns, n.Column+1), max(rows, n.Row+1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" text-anchor=\"middle\">\n",
		2*margin+(columns-1)*cellWidth+boxWidth, 2*margin+(rows-1)*cellHeight+boxHeight)
	b.WriteString("<defs><marker id=\"arrow\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\"><path d=\"M0,0 L7,3 L0,6 z\"/></marker></defs>\n")
	for _, e := range d.Edges {
		x1, y1 := d.Nodes[e.From].corner()
		x2, y2 := d.Nodes[e.To].corner()
		x1, y1, y2 = x1+boxWidth, y1+boxHeight/2, y2+boxHeight/2
		fmt.Fprintf(&b, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"black\" marker-end=\"url(#arrow)\"/>\n", x1, y1, x2, y2)
		for i, text := range e.labels() {
			// near the end, where lines of one box have parted
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"9\">%s</text>\n", x1+(x2-x1)*3/5, y1+(y2-y1)*3/5-4+13*i, html.EscapeString(text))
		}
	}
	for _, n := range d.Nodes {
		n.svg(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// corner returns a box's upper left corner.
func (n *DrawnNode) corner() (x, y int) {
	return margin + n.Column*cellWidth, margin + n.Row*cellHeight
}

// svg draws a box.
func (n *DrawnNode) svg(b *strings.Builder) {
	x, y := n.corner()
	radius := 4
	if n.Kind == "" {
		radius = boxHeight / 2
	}
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"white\" stroke=\"black\"/>\n", x, y, boxWidth, boxHeight, radius)
	middle := x + boxWidth/2
	if n.Kind == "" {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"12\">%s</text>\n", middle, y+27, html.EscapeString(n.Name))
		return
	}
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"12\" font-weight=\"bold\">%s</text>\n", middle, y+19, html.EscapeString(n.Name))
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"10\">%s</text>\n", middle, y+34, html.EscapeString(n.Kind))
}

// In returns the picture as svg, dot or json.
func (d Drawing) In(format string) (string, error) {
	switch format {
	case "svg":
		return d.SVG(), nil
	case "dot":
		return d.Dot(), nil
	case "json":
		text, err := json.Marshal(d)
		return string(text) + "\n", err
	}
	return "", fmt.Errorf("%s: want svg, dot or json", format)
}
