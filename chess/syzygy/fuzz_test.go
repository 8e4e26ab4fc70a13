package syzygy

import (
	"bytes"
	"testing"
)

// memoryFile is a table file in memory.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// FuzzTable reads any bytes as each of the written tables: no panic, no endless
// loop, no memory beyond the file's own size and the fixed bounds.
func FuzzTable(f *testing.F) {
	for i, data := range writtenBytes() {
		f.Add(uint8(i), uint64(i*977), data)
		f.Add(uint8(i), uint64(5), data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint64, data []byte) {
		w := writtenTables[int(which)%len(writtenTables)]
		men, err := parseMaterial(w.name)
		if err != nil {
			t.Fatal(err)
		}
		file := newFile("fuzz", men, w.dtz, 1, newPageCache(1<<20))
		file.size = int64(len(data))
		file.open = func() (readerAt, error) { return memoryFile{bytes.NewReader(data)}, nil }
		if file.load() != nil {
			return
		}
		for p := range file.all {
			for i := range uint64(4) {
				v, err := p.lookup(file, (at+i*p.size/4)%p.size)
				if err != nil {
					continue
				}
				for wdl := Loss; wdl <= Win && w.dtz; wdl++ {
					if plies, err := p.distance(v, wdl); err == nil && plies < 1 {
						t.Fatalf("%d plies", plies)
					}
				}
			}
		}
	})
}
