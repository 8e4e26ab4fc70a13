package importer

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// ErrZstd says that a file is compressed with zstd, which this program does not
// read.
var ErrZstd = errors.New("compressed with zstd: use zstd -dc FILE | chessbrain import-pgn - --out DIR")

// OpenFile opens a PGN file, plain, gzip or bzip2, whatever its name says. The
// caller closes it. A zstd file is ErrZstd.
func OpenFile(path string) (io.ReadCloser, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open %s: it is a directory; name PGN files", path)
	}
	r, err := Unpack(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// HasGame says whether a PGN file has a game that can be imported, and reads no further.
func HasGame(path string) (found bool, err error) {
	f, err := OpenFile(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = pgn.Read(f, pgn.ReadOptions{OwnRules: true}, func(g *pgn.Game) error {
		if _, err := Convert(g, Targets{DrawRate: math.NaN()}); err != nil || len(g.Moves) == 0 {
			return nil
		}
		found = true
		return errEnough
	})
	if _, told := errors.AsType[*pgn.ReadError](err); found || told {
		err = nil // of games, not of the file
	}
	return found, err
}

// Unpack returns the text behind r: r itself, or what is packed in it with gzip
// (also several streams one after the other) or bzip2. zstd is ErrZstd.
func Unpack(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch magic := string(head); {
	case len(magic) >= 2 && magic[:2] == "\x1f\x8b":
		return gzip.NewReader(br)
	case len(magic) >= 3 && magic[:3] == "BZh":
		return bzip2.NewReader(br), nil
	case magic == "\x28\xb5\x2f\xfd":
		return nil, ErrZstd
	}
	return br, nil
}
