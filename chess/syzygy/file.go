package syzygy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
)

// The kinds of table files, by the first four bytes.
var (
	magicWDL = [4]byte{0x71, 0xe8, 0x23, 0x5d}
	magicDTZ = [4]byte{0xd7, 0x66, 0x0c, 0xa5}
)

const (
	headFlagSplit = 1       // the sides have different men
	headFlagPawns = 2       // there are pawns
	maxHead       = 1 << 20 // bytes of a head, several times what any table has
	checksumSize  = 16      // bytes at the end of a file
	blockAlign    = 64
	minFile       = 2*blockAlign - 48 // bytes of the smallest table
)

// file is one table file. Its head is read at first use; pages of the rest go
// through the cache. Files are opened for each read of a page and not held open,
// as a full set of tables has more files than a process may open.
//
//	magic, flags, order of the men and factors of each part
//	heads of the parts (readPairs), then lists of DTZ values
//	sparse indices, block lengths, blocks (64-byte aligned) of all parts
//	checksum
type file struct {
	path  string
	id    uint64 // for the cache
	dtz   bool
	men   material // side 0 is the one that the file's name has first
	size  int64
	cache *pageCache
	open  func() (readerAt, error)

	once  sync.Once
	fail  error        // of loading
	parts [2][4]*pairs // [side to move][file of the leading pawn]

	broken bool // in Tables.broken, whose lock guards it
}

// readerAt is an open table file.
type readerAt interface {
	io.ReaderAt
	io.Closer
}

// newFile describes a file on disk.
func newFile(path string, men material, dtz bool, id uint64, cache *pageCache) *file {
	return &file{path: path, men: men, dtz: dtz, id: id, cache: cache, open: func() (readerAt, error) { return os.Open(path) }}
}

// fault names what is wrong with the file.
func (f *file) fault(at int64, reason string) error {
	return &TableError{Path: f.path, Offset: at, Reason: reason}
}

// check looks at size and magic only, so that Open can name foreign and
// truncated files at once.
func (f *file) check(size int64) error {
	f.size = size
	if size < minFile || size%blockAlign != checksumSize {
		return f.fault(-1, fmt.Sprintf("%d bytes are no table: truncated or another kind of file; get it again", size))
	}
	var magic [4]byte
	if err := f.readFile(magic[:], 0); err != nil {
		return err
	}
	want := magicWDL
	if f.dtz {
		want = magicDTZ
	}
	if magic != want {
		return f.fault(0, fmt.Sprintf("starts with % x, want % x: no table of this kind; get it again", magic, want))
	}
	return nil
}

// load reads the head once.
func (f *file) load() error {
	f.once.Do(func() {
		head := make([]byte, min(f.size, maxHead))
		if f.fail = f.readFile(head, 0); f.fail != nil {
			return
		}
		r := &headReader{data: head, at: 4}
		if err := f.parse(r); err != nil {
			f.fail = f.fault(int64(r.at), err.Error())
		}
	})
	return f.fail
}

// readFile fills p from the file.
func (f *file) readFile(p []byte, at int64) error {
	r, err := f.open()
	if err != nil {
		return f.fault(-1, err.Error())
	}
	defer r.Close()
	if n, err := r.ReadAt(p, at); n < len(p) {
		return f.fault(at+int64(n), fmt.Sprintf("cannot read: %v", err))
	}
	return nil
}

// read returns n bytes, which must not be changed.
func (f *file) read(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at+n > f.size {
		return nil, f.fault(at, fmt.Sprintf("points to %d bytes beyond the end; get the file again", n))
	}
	first, last := at/pageSize, (at+n-1)/pageSize
	page, err := f.page(first)
	if err != nil {
		return nil, err
	}
	if first == last {
		return page[at%pageSize:][:n], nil
	}
	joined := bytes.Clone(page[at%pageSize:])
	for i := first + 1; i <= last; i++ {
		if page, err = f.page(i); err != nil {
			return nil, err
		}
		joined = append(joined, page...)
	}
	return joined[:n], nil
}

// page returns a page, the last one shorter than the others.
func (f *file) page(i int64) ([]byte, error) {
	key := pageKey{f, i}
	if page := f.cache.get(key); page != nil {
		return page, nil
	}
	page := make([]byte, min(pageSize, f.size-i*pageSize))
	if err := f.readFile(page, i*pageSize); err != nil {
		return nil, err
	}
	f.cache.put(key, page)
	return page, nil
}
