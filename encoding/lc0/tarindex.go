package lc0

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tarBlock is the unit of a tar: headers have one block, data are filled up.
const tarBlock = 512

// tarReader builds the index of a tar. Directories, global pax headers and a member
// LICENSE are passed over; all else that is no chunk is bad.
type tarReader struct {
	file   io.ReaderAt
	source *Source // gets what is found
	lost   bool    // within a stretch that is no header, which is reported
}

// scan goes through all headers. After an unreadable one the next good one is
// looked for. The error is the file's.
func (t *tarReader) scan() error {
	for at := int64(0); at < t.source.size; {
		var block [tarBlock]byte
		n, err := t.file.ReadAt(block[:], at)
		if err != nil && err != io.EOF {
			return err
		}
		switch {
		case n < tarBlock:
			if !t.lost {
				t.report("", at, "the tar ends within a header")
			}
			return nil
		case block == [tarBlock]byte{}:
			at += tarBlock // the end, or filling between joined tars
			continue
		case !checksumOK(&block):
			if !t.lost {
				t.report("", at, "the checksum of the header differs")
			}
			t.lost = true
			at += tarBlock
			continue
		}
		t.lost = false
		if at, err = t.member(&block, at); err != nil {
			return err
		}
	}
	return nil
}

// member takes in the member whose first header stands at an offset and returns the
// offset of the next.
func (t *tarReader) member(b *[tarBlock]byte, at int64) (next int64, err error) {
	section := io.NewSectionReader(t.file, at, t.source.size-at)
	h, err := tar.NewReader(section).Next()
	if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // nothing is unpacked
		t.report(shown(string(untilNUL(b[:100]))), at, fmt.Sprintf("its header is damaged: %v", err))
		t.lost = true
		return at + tarBlock, nil
	}
	h.Name = shown(h.Name)
	offset, err := section.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	data := at + (offset+tarBlock-1)/tarBlock*tarBlock // a global header leaves its filling unread
	at = data - tarBlock                               // of the member's own header, behind those with a long name
	if isSparse(h) {                                   // its size is not that of its data
		t.report(h.Name, at, "a sparse file")
		t.lost = true
		return data, nil
	}
	if left := t.source.size - data; h.Size > left {
		t.report(h.Name, at, fmt.Sprintf("it says %d bytes, the tar ends %d after its header", h.Size, left))
		t.lost = true
		return data, nil // what follows may be other members
	}
	next = data + (h.Size+tarBlock-1)/tarBlock*tarBlock
	switch kind := h.Typeflag; {
	case kind == tar.TypeXGlobalHeader || kind == tar.TypeDir || path.Base(h.Name) == "LICENSE":
	case kind == tar.TypeReg || kind == tar.TypeCont:
		return next, t.addFile(h.Name, at, data, h.Size)
	default:
		t.report(h.Name, at, fmt.Sprintf("type %q is no file", kind))
	}
	return next, nil
}

// maxShown bounds the name of a member, which a tar does not; a path has no more.
const maxShown = 4096

// shown is a member's name as messages may show it: one line of bounded length, without
// bytes that a terminal obeys.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) {
		name = strings.Trim(strconv.Quote(name), `"`)
	}
	if len(name) > maxShown {
		name = strings.ToValidUTF8(name[:maxShown], "") + "..."
	}
	return name
}

// isSparse says whether a member leaves out its zeros, in either form of GNU tar.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// addFile takes in a file.
func (t *tarReader) addFile(name string, at, data, size int64) error {
	head := make([]byte, min(size, 4))
	if _, err := t.file.ReadAt(head, data); err != nil && err != io.EOF {
		return err
	}
	if !isChunk(head) {
		t.report(name, at, "it is no chunk of training data")
		return nil
	}
	t.source.chunks = append(t.source.chunks, member{name, data, size})
	return nil
}

func (t *tarReader) report(name string, at int64, reason string) {
	t.source.Bad = append(t.source.Bad, MemberError{Path: t.source.Path, Name: name, Offset: at, Err: recordError("%s", reason)})
}

// isTar says whether a block is a header, or the end of an empty tar.
func isTar(head []byte) bool {
	if len(head) < tarBlock {
		return false
	}
	b := (*[tarBlock]byte)(head)
	return *b == [tarBlock]byte{} || checksumOK(b)
}

// checksumOK compares the sum of a header's bytes, its checksum taken as spaces,
// with what it says; old writers summed signed bytes.
func checksumOK(b *[tarBlock]byte) bool {
	want, err := strconv.ParseInt(string(bytes.Trim(untilNUL(bytes.TrimLeft(b[148:156], " ")), " ")), 8, 64)
	unsigned, signed := int64(0), int64(0)
	for i, c := range b {
		if i >= 148 && i < 156 {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	return err == nil && (want == unsigned || want == signed)
}

func untilNUL(b []byte) []byte {
	head, _, _ := bytes.Cut(b, []byte{0})
	return head
}
