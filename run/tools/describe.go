package tools

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/nn"
)

// Described is what a checkpoint or a net file holds.
type Described struct {
	Path       string  `json:"path"`
	Arch       nn.Arch `json:"arch"`
	Name       string  `json:"name"`
	Parameters int     `json:"parameters"`
	ID         string  `json:"net_id"`
	Manifest   any     `json:"manifest,omitempty"` // around the net; nil of a file

	net *nn.Net
}

// Describe describes a net, and the manifest around it where there is one.
func Describe(path string, net *nn.Net, manifest any) *Described {
	params := 0
	for _, p := range net.Params {
		params += len(p.Data)
	}
	return &Described{path, net.Arch, net.Arch.String(), params, net.ID(), manifest, net}
}

// Write prints it for a person.
func (d *Described) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s\nnet %s, %d parameters, id %s\n", d.Path, d.Name, d.Parameters, d.ID)
	if d.Manifest != nil {
		text, err := json.MarshalIndent(d.Manifest, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", text)
	}
	for _, p := range d.net.Params {
		low, high, mean := p.Data[0], p.Data[0], 0.0
		for _, v := range p.Data {
			low, high, mean = min(low, v), max(high, v), mean+float64(v)
		}
		if _, err := fmt.Fprintf(w, "  %-28s %-16s mean %9.5f  range %9.5f .. %9.5f\n", p.Name, fmt.Sprint(p.Shape),
			mean/float64(len(p.Data)), low, high); err != nil {
			return err
		}
	}
	return nil
}
