package chunks

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
)

// Filter says which chunks pass. Zero values let all pass.
type Filter struct {
	Results      []int8 // of white: 1, 0, -1
	MinPlies     int
	MaxPlies     int // 0 = no limit
	MinPositions int // to train on
	Versions     []uint32
	Formats      []uint32
	Ends         []record.EndReason
	StartOnly    bool // begins at the standard start position
	Distinct     bool // of equal games only the first

	seen map[[16]byte]struct{}
}

// EndNames lists the reasons for which a game may end.
func EndNames() (names []string) {
	for e := record.EndUnknown; e < record.EndAborted; e++ {
		names = append(names, e.String())
	}
	return names
}

// Parse adds conditions in the words of a command line: results are white, draw and
// black, ends those of EndNames. Errors name the flag.
func (f *Filter) Parse(results, ends []string, versions, formats []uint) error {
	for _, name := range results {
		i := slices.Index([]string{"black", "draw", "white"}, name)
		if i < 0 {
			return fmt.Errorf("--result %q: want white, draw or black", name)
		}
		f.Results = append(f.Results, int8(i-1))
	}
	for _, name := range ends {
		i := slices.Index(EndNames(), name)
		if i < 0 {
			return fmt.Errorf("--end %q: want one of %s", name, strings.Join(EndNames(), ", "))
		}
		f.Ends = append(f.Ends, record.EndReason(i))
	}
	for _, v := range versions {
		if v > 7 || lc0.RecordSize(uint32(v)) == 0 {
			return fmt.Errorf("--version %d: want 3 to 7", v)
		}
		f.Versions = append(f.Versions, uint32(v))
	}
	for _, v := range formats {
		if v > 255 || !slices.Contains(lc0.InputFormats(), uint32(v)) {
			return fmt.Errorf("--input-format %d: want one of %v", v, lc0.InputFormats())
		}
		f.Formats = append(f.Formats, uint32(v))
	}
	return nil
}

// Pass returns "" for a chunk that passes, else the condition that it fails.
func (f *Filter) Pass(g *Game) string {
	in := func(n int, failed bool) bool { return n > 0 && failed }
	switch plies := len(g.Rec.Plies); {
	case in(len(f.Results), !slices.Contains(f.Results, g.Rec.WhiteResult)):
		return "result"
	case plies < f.MinPlies, f.MaxPlies > 0 && plies > f.MaxPlies:
		return "plies"
	case g.Rec.NumRows() < f.MinPositions:
		return "positions"
	case in(len(f.Versions), !slices.Contains(f.Versions, g.Records[0].Version)):
		return "version"
	case in(len(f.Formats), !slices.Contains(f.Formats, g.Records[0].InputFormat)):
		return "input format"
	case in(len(f.Ends), !slices.Contains(f.Ends, g.Rec.End)):
		return "end"
	case f.StartOnly && g.Rec.Start != "":
		return "start"
	}
	if !f.Distinct {
		return ""
	}
	if _, known := f.seen[g.Rec.ID]; known {
		return "duplicate"
	}
	if f.seen == nil {
		f.seen = map[[16]byte]struct{}{}
	}
	f.seen[g.Rec.ID] = struct{}{}
	return ""
}

// Copied says what Copy did.
type Copied struct {
	Read   int            `json:"read"`
	Copied int            `json:"copied"`
	Failed map[string]int `json:"failed"` // by the condition first failed
	Out    string         `json:"out,omitempty"`
}

// Text says for a person what was copied, behind how much was read, and which
// conditions the others fail.
func (c *Copied) Text() string {
	where := "would be copied"
	if c.Out != "" {
		where = "copied to " + c.Out
	}
	text := fmt.Sprintf("%d %s\n", c.Copied, where)
	for _, name := range slices.Sorted(maps.Keys(c.Failed)) {
		text += fmt.Sprintf("%d not: %s\n", c.Failed[name], name)
	}
	return text
}

// CopyOptions say where chunks go.
type CopyOptions struct {
	Out   string // a directory, or a file *.tar; "" = nowhere, only count
	Limit int    // stop after so many copies; 0 = no limit
}

// errEnough ends a walk.
var errEnough = errors.New("enough chunks")

// ErrExists says that an output is there already.
var ErrExists = errors.New("the output is there already: choose another")

// Copy copies the chunks of inputs that pass f, byte for byte, under their name;
// those of a tar under the tar's name and theirs. An output that is there is
// not written over (ErrExists). Our own *.games cannot be copied (ErrInput).
func Copy(ctx context.Context, fsys fsx.FS, inputs []string, f *Filter, o CopyOptions) (report *Copied, problems []error, err error) {
	c := &copier{fsys: fsys, filter: f, options: o, report: Copied{Failed: map[string]int{}, Out: o.Out}, names: map[string]string{}}
	walk := func() error {
		problems, err = Walk(ctx, fsys, inputs, c.chunk)
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	}
	if !strings.HasSuffix(o.Out, ".tar") {
		err = walk()
		return &c.report, problems, err
	}
	if _, err := fsys.Stat(o.Out); err == nil {
		return &c.report, nil, fmt.Errorf("%s: %w", o.Out, ErrExists)
	}
	err = fsx.WriteFileFunc(fsys, o.Out, func(w io.Writer) error {
		c.tar = tar.NewWriter(w)
		if err := walk(); err != nil {
			return err
		}
		return c.tar.Close()
	})
	return &c.report, problems, err
}

// copier copies chunk by chunk.
type copier struct {
	fsys    fsx.FS
	filter  *Filter
	options CopyOptions
	report  Copied
	names   map[string]string // output -> input
	tar     *tar.Writer       // nil = a directory
}

// chunk looks at one chunk.
func (c *copier) chunk(g *Game) error {
	if g.Source == nil {
		return fmt.Errorf("%w: %s holds games of ours, not chunks of Leela's: only those can be copied", ErrInput, g.Path)
	}
	c.report.Read++
	if failed := c.filter.Pass(g); failed != "" {
		c.report.Failed[failed]++
		return nil
	}
	if c.options.Out != "" {
		if err := c.write(g); err != nil {
			return err
		}
	}
	c.report.Copied++
	if c.report.Copied == c.options.Limit {
		return errEnough
	}
	return nil
}

// write puts a chunk where it belongs.
func (c *copier) write(g *Game) error {
	name, err := outName(g)
	if err != nil {
		return err
	}
	if other, taken := c.names[name]; taken {
		return fmt.Errorf("%w: %s and %s would both be %s: copy them one after the other", ErrInput, other, g.where(), name)
	}
	c.names[name] = g.where()
	data, err := g.Source.Packed(g.Index)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = zipped(data); err != nil {
			return err
		}
	}
	if c.tar != nil {
		// No times and owners: equal chunks give equal bytes.
		if err := c.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return fmt.Errorf("%s: member %s: %w", c.options.Out, name, err)
		}
		_, err = c.tar.Write(data)
		return err
	}
	path := filepath.Join(c.options.Out, filepath.FromSlash(name))
	if _, err := c.fsys.Stat(path); err == nil {
		return fmt.Errorf("%s: %w", path, ErrExists)
	}
	return fsx.PutFile(c.fsys, path, data)
}

// outName is the output's name with slashes. A member's folders are dropped:
// they may lead anywhere.
func outName(g *Game) (string, error) {
	base := g.Name[strings.LastIndexAny(g.Name, "/\\")+1:]
	if base == "" || base == "." || base == ".." || strings.ContainsAny(base, ":\x00") {
		return "", fmt.Errorf("%w: %s: %q is no name for a file", ErrInput, g.Path, g.Name)
	}
	if !strings.HasSuffix(base, ".gz") {
		base += ".gz"
	}
	file := filepath.Base(g.Path)
	if g.Name == file { // not in a tar
		return base, nil
	}
	return strings.TrimSuffix(file, ".tar") + "/" + base, nil
}

func zipped(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write(data)
	err = cmp.Or(err, z.Close())
	return buf.Bytes(), err
}
