package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
)

// Metadata keys that WriteSafetensors sets.
const (
	MetaArch  = "arch"   // canonical JSON of the architecture
	MetaNetID = "net_id" // Net.ID
)

// WriteSafetensors writes a valid net with its architecture and id as metadata,
// besides meta, which may be nil and is not changed; the keys "arch" and
// "net_id" of meta are replaced. The same net and meta give the same bytes.
func WriteSafetensors(w io.Writer, n *Net, meta map[string]string) error {
	if err := n.Validate(); err != nil {
		return fmt.Errorf("write net: %w", err)
	}
	arch, err := json.Marshal(n.Arch)
	if err != nil {
		return fmt.Errorf("write net: %w", err)
	}
	all := map[string]string{}
	maps.Copy(all, meta)
	all[MetaArch], all[MetaNetID] = string(arch), n.ID()
	tensors := make([]Tensor, len(n.Params))
	for i, p := range n.Params {
		tensors[i] = Tensor(p)
	}
	return EncodeTensors(w, tensors, all)
}

// ReadSafetensors reads a net and all metadata of its file. Tensors may stand in
// any order, but must be those of the architecture (ErrArch, ErrParams); where
// the file says a net id it must be right. Corrupt files give a *FormatError.
func ReadSafetensors(r io.Reader) (*Net, map[string]string, error) {
	tensors, meta, err := DecodeTensors(r)
	if err != nil {
		return nil, nil, fmt.Errorf("read net: %w", err)
	}
	text, ok := meta[MetaArch]
	if !ok {
		return nil, nil, fmt.Errorf("read net: %w: the file's metadata has no %q: it was not written by this program", ErrArch, MetaArch)
	}
	arch, err := parseArchJSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read net: %w", err)
	}
	n := &Net{Arch: arch, Params: orderTensors(Specs(arch), tensors)}
	if err := n.Validate(); err != nil {
		return nil, nil, fmt.Errorf("read net: %w", err)
	}
	if want, ok := meta[MetaNetID]; ok {
		if id := n.ID(); id != want {
			return nil, nil, fmt.Errorf("read net: %w", &FormatError{0, fmt.Sprintf("the tensors have id %s, the metadata says %s", id, want)})
		}
	}
	return n, meta, nil
}

// ReadArch returns the architecture of a net's file and reads its header alone. Its
// errors are those of ReadSafetensors.
func ReadArch(r io.Reader) (Arch, error) {
	header, err := readHeader(r)
	if err != nil {
		return Arch{}, fmt.Errorf("read net: %w", err)
	}
	_, meta, err := parseHeader(header)
	if err != nil {
		return Arch{}, fmt.Errorf("read net: %w", err)
	}
	arch, err := parseArchJSON(meta[MetaArch])
	if err != nil {
		return Arch{}, fmt.Errorf("read net: %w", err)
	}
	return arch, nil
}

// parseArchJSON reads the architecture of a file and refuses what this build
// does not know.
func parseArchJSON(text string) (a Arch, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, fmt.Errorf("%w: %w", ErrArch, err)
	}
	if d.More() {
		return a, fmt.Errorf("%w: text after the JSON object", ErrArch)
	}
	return a, a.Validate()
}

// orderTensors returns the tensors in the order of specs, those of other names
// at the end; where one is missing, the next takes its place and Net.Validate
// says so.
func orderTensors(specs []ParamSpec, tensors []Tensor) []Param {
	byName := make(map[string]Tensor, len(tensors))
	for _, t := range tensors {
		byName[t.Name] = t
	}
	params := make([]Param, 0, len(tensors))
	for _, s := range specs {
		if t, ok := byName[s.Name]; ok {
			params = append(params, Param(t))
			delete(byName, s.Name)
		}
	}
	for _, t := range tensors {
		if _, left := byName[t.Name]; left {
			params = append(params, Param(t))
		}
	}
	return params
}
