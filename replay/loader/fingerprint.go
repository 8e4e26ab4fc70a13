package loader

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// fingerprintEdge is how much of a file's beginning and of its end its
// fingerprint looks at.
const fingerprintEdge = 64 << 10

// fingerprint is made of a file's size, beginning and end; where another file
// has the same, of all of it. Reads at most 128 KiB of most files.
func (p *filePathProvider) fingerprint(f seen) (fingerprint, error) {
	edges, err := p.hashFile(f.rel, f.size, fingerprintEdge)
	if err != nil || f.size <= 2*fingerprintEdge {
		return edges, err // that was all of it
	}
	other := p.ledger.prints[edges]
	if other == nil || len(other.paths) == 0 || other.paths[0] == f.rel {
		return edges, nil
	}
	whole, err := p.hashFile(f.rel, f.size, f.size)
	if err != nil {
		return edges, err
	}
	if otherWhole, err := p.hashFile(other.paths[0], other.size, other.size); err != nil || otherWhole == whole {
		return edges, nil // it is going away: then this is what it is called now
	}
	return whole, nil
}

// hashFile hashes the size, and the first and last edge bytes of a file.
func (p *filePathProvider) hashFile(rel string, size, edge int64) (print fingerprint, err error) {
	file, err := p.options.FS.OpenFile(filepath.Join(p.settings.Directory, filepath.FromSlash(rel)), os.O_RDONLY, 0)
	if err != nil {
		return print, err
	}
	defer file.Close()
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(size)))
	parts := []*io.SectionReader{io.NewSectionReader(file, 0, min(edge, size))}
	if rest := size - edge; rest > 0 {
		parts = append(parts, io.NewSectionReader(file, max(edge, size-edge), min(edge, rest)))
	}
	for _, part := range parts {
		n, err := io.Copy(h, part)
		if err != nil {
			return print, err
		}
		if n != part.Size() {
			return print, fmt.Errorf("it has become shorter than %d bytes while it was read", size)
		}
	}
	return fingerprint(h.Sum(nil)[:len(print)]), nil
}
