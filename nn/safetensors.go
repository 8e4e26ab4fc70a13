package nn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
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
	arch, err := json.Marshal(n.Arch)
	if err = cmp.Or(n.Validate(), err); err != nil {
		return fmt.Errorf("write net: %w", err)
	}
	all := map[string]string{}
	maps.Copy(all, meta)
	all[MetaArch], all[MetaNetID] = string(arch), n.ID()
	return EncodeTensors(w, n.Params, all)
}

// ReadSafetensors reads a net and all metadata of its file. Tensors may stand in
// any order, but must be those of the architecture (ErrArch, ErrParams); where
// the file says a net id it must be right. Corrupt files give a *FormatError.
func ReadSafetensors(r io.Reader) (n *Net, meta map[string]string, err error) {
	defer func() {
		if err != nil {
			n, meta, err = nil, nil, fmt.Errorf("read net: %w", err)
		}
	}()
	tensors, meta, err := DecodeTensors(r)
	if err != nil {
		return nil, nil, err
	}
	text, ok := meta[MetaArch]
	if !ok {
		return nil, nil, fmt.Errorf("%w: the file's metadata has no %q: it was not written by this program", ErrArch, MetaArch)
	}
	arch, err := parseArchJSON(text)
	if err != nil {
		return nil, nil, err
	}
	n = &Net{Arch: arch, Params: orderTensors(Specs(arch), tensors)}
	if err := n.Validate(); err != nil {
		return nil, nil, err
	}
	if want, ok := meta[MetaNetID]; ok && n.ID() != want {
		return nil, nil, &FormatError{0, fmt.Sprintf("the tensors have id %s, the metadata says %s", n.ID(), want)}
	}
	return n, meta, nil
}

// ReadArch returns the architecture of a net's file and reads its header alone. Its
// errors are those of ReadSafetensors.
func ReadArch(r io.Reader) (Arch, error) {
	var meta map[string]string
	var arch Arch
	header, err := readHeader(r)
	if err == nil {
		_, meta, err = parseHeader(header)
	}
	if err == nil {
		arch, err = parseArchJSON(meta[MetaArch])
	}
	if err != nil {
		return Arch{}, fmt.Errorf("read net: %w", err)
	}
	return arch, nil
}

// parseArchJSON reads the architecture of a file and refuses what this build
// does not know.
func parseArchJSON(text string) (a Arch, err error) {
	if err := a.UnmarshalJSON([]byte(text)); err != nil {
		return a, err
	}
	return a, a.Validate()
}

// orderTensors sorts tensors in the order of specs, those of other names at the
// end; where one is missing, the next takes its place and Net.Validate says so.
func orderTensors(specs []ParamSpec, tensors []Tensor) []Param {
	place := map[string]int{}
	for i, s := range specs {
		place[s.Name] = i - len(specs) // below 0, the place of all others
	}
	slices.SortStableFunc(tensors, func(a, b Tensor) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	return tensors
}
