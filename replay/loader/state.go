package loader

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

const (
	loaderVersion = 1
	scheduleName  = "@schedule" // no stage can be called so
	maxName       = 64
	// partSize is how much of a stage's state is written at once.
	partSize = 1 << 20
)

// Section is the sampling state of all stages and of the schedule. Load must
// come before the first Next. Items on the way between two stages at the moment
// of Save are not in it: at most what the queues hold, one item a goroutine
// (threads + 1 batches of a plugin stage), and the batch being filled; those
// chunks count as used.
//
// Layout: for each part uvarint length of its name, the name, uvarint version,
// then pieces of uvarint length > 0 and bytes, then a zero byte; a zero byte
// ends the list.
func (l *Loader) Section() stage.Section {
	return stage.Section{Name: "loader", Version: loaderVersion, Save: l.save, Load: l.load}
}

// parts returns the sections of all whose state is kept: the schedule, and stages in the
// order of the graph.
func (l *Loader) parts() []stage.Section {
	parts := []stage.Section{l.schedule.Section()}
	for _, n := range l.graph.nodes {
		if s, ok := n.stage.(interface{ Section() stage.Section }); ok && !n.config.Fresh {
			parts = append(parts, s.Section())
		}
	}
	return parts
}

func (l *Loader) save(w io.Writer) error {
	for _, s := range l.parts() {
		head := binary.AppendUvarint(nil, uint64(len(s.Name)))
		head = append(head, s.Name...)
		head = binary.AppendUvarint(head, uint64(s.Version))
		if _, err := w.Write(head); err != nil {
			return err
		}
		pieces := bufio.NewWriterSize(pieceWriter{w}, partSize)
		if err := errors.Join(s.Save(pieces), pieces.Flush()); err != nil {
			return fmt.Errorf("save loader stage %q: %w", s.Name, err)
		}
		if _, err := w.Write([]byte{0}); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte{0})
	return err
}

// pieceWriter writes what it is given at once, which is not empty, as a piece.
type pieceWriter struct{ w io.Writer }

func (p pieceWriter) Write(data []byte) (int, error) {
	if _, err := p.w.Write(binary.AppendUvarint(nil, uint64(len(data)))); err != nil {
		return 0, err
	}
	return p.w.Write(data)
}

// part is the state of one stage.
type part struct {
	version int
	data    []byte
}

// readParts reads what save wrote.
func readParts(r io.Reader) (map[string]part, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("loader section: %w", err)
	}
	d, parts := replay.Decoder{Data: data}, map[string]part{}
	for {
		name := string(d.Bytes(maxName))
		if name == "" {
			break
		}
		p := part{version: int(d.Uvarint(1 << 40))}
		for {
			piece := d.Bytes(1 << 40)
			if len(piece) == 0 {
				break
			}
			p.data = append(p.data, piece...)
		}
		if _, twice := parts[name]; twice {
			d.Fail("stage %q is there twice", name)
		}
		parts[name] = p
	}
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("loader section of %d bytes is damaged at byte %d: %w", len(data), d.Pos, err)
	}
	return parts, nil
}

// load gives each stage its part. A stage that was not there when the state was
// saved begins anew; state of a stage that is not there now is an error.
func (l *Loader) load(r io.Reader, version int) error {
	if version != loaderVersion {
		return fmt.Errorf("loader section has version %d, this program reads %d", version, loaderVersion)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return fmt.Errorf("load the loader's state: %w", ErrStarted)
	}
	parts, err := readParts(r)
	if err != nil {
		return err
	}
	sections := l.parts()
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	for name := range parts {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the checkpoint has state of a loader stage %q, and data_loader has none of that name with state (it has %s); "+
				"name the stage as it was", name, strings.Join(names[1:], ", "))
		}
	}
	var undo []func() error
	for _, s := range sections {
		p, saved := parts[s.Name]
		if !saved {
			continue
		}
		var before bytes.Buffer
		if err = s.Save(&before); err == nil {
			if err = s.Load(bytes.NewReader(p.data), p.version); err == nil {
				undo = append(undo, func() error { return s.Load(&before, s.Version) })
				continue
			}
		}
		err = fmt.Errorf("load loader stage %q: %w", s.Name, err)
		for _, rollback := range undo {
			if e := rollback(); e != nil {
				return fmt.Errorf("%w; and going back failed: %w", err, e)
			}
		}
		return err
	}
	return nil
}
