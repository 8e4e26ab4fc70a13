package lc0

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// tarBlock is the unit of a tar: headers have one block, data are filled up.
//
//	name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | type 1 |
//	link 100 | magic 6 | version 2 | user 32 | group 32 | device 16 | prefix 155 | 12
const tarBlock = 512

// maxTarName bounds the data of a member that holds the name of the next.
const maxTarName = 1 << 16

// tarReader builds the index of a tar. It accepts ustar with the prefix field,
// GNU long names (type L), pax headers (x, path and size), sizes in base 256,
// and type NUL for files. Directories, global pax headers, links' names and a
// member LICENSE are passed over; all else that is no chunk is bad.
type tarReader struct {
	file    io.ReaderAt
	size    int64
	members []member
	bad     []MemberError

	longName string // of the next member, "" = its own
	paxSize  int64  // of the next member, -1 = its own
	lost     bool   // within a stretch that is no header, which is reported
}

// scan goes through all headers. After an unreadable one the next good one is
// looked for. The error is the file's.
func (t *tarReader) scan() error {
	t.paxSize = -1
	for at := int64(0); at < t.size; {
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
			t.longName, t.paxSize = "", -1
			t.lost = true
			at += tarBlock
			continue
		}
		t.lost = false
		if at, err = t.header(&block, at); err != nil {
			return err
		}
	}
	return nil
}

// header takes in the member whose header stands at an offset and returns the
// offset of the next.
func (t *tarReader) header(b *[tarBlock]byte, at int64) (next int64, err error) {
	name, kind := memberName(b), b[156]
	size, ok := tarNumber(b[124:136])
	if !ok {
		t.report(name, at, "its size is no number")
		t.lost = true
		return at + tarBlock, nil
	}
	data := at + tarBlock
	auxiliary := kind == 'L' || kind == 'K' || kind == 'x' || kind == 'g'
	if !auxiliary {
		if t.longName != "" {
			name = t.longName
		}
		if t.paxSize >= 0 {
			size = t.paxSize
		}
		t.longName, t.paxSize = "", -1
	}
	if size > t.size-data {
		t.report(name, at, fmt.Sprintf("it says %d bytes, the tar ends %d after its header", size, t.size-data))
		t.lost = true
		return data, nil // what follows may be other members
	}
	next = data + (size+tarBlock-1)/tarBlock*tarBlock
	switch {
	case kind == 'L' || kind == 'x':
		return next, t.nextName(kind, name, at, data, size)
	case auxiliary || kind == '5' || baseName(name) == "LICENSE":
	case kind == '0' || kind == 0 || kind == '7':
		return next, t.addFile(name, at, data, size)
	default:
		t.report(name, at, fmt.Sprintf("type %q is no file", kind))
	}
	return next, nil
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
	t.members = append(t.members, member{name, data, size})
	return nil
}

// nextName reads a name for the member that follows.
func (t *tarReader) nextName(kind byte, name string, at, data, size int64) error {
	if size > maxTarName {
		t.report(name, at, fmt.Sprintf("a name of %d bytes", size))
		return nil
	}
	text := make([]byte, size)
	if _, err := t.file.ReadAt(text, data); err != nil && err != io.EOF {
		return err
	}
	if kind == 'L' {
		t.longName = string(untilNUL(text))
		return nil
	}
	if reason := t.pax(text); reason != "" {
		t.report(name, at, reason)
	}
	return nil
}

// pax reads the lines "LENGTH KEY=VALUE\n" of a pax header; "" if all is well.
func (t *tarReader) pax(text []byte) (reason string) {
	for len(text) > 0 {
		digits, _, ok := bytes.Cut(text, []byte(" "))
		n, err := strconv.Atoi(string(digits))
		if !ok || err != nil || n <= len(digits)+1 || n > len(text) || text[n-1] != '\n' {
			return "damaged pax header"
		}
		key, value, ok := bytes.Cut(text[len(digits)+1:n-1], []byte("="))
		if !ok {
			return "damaged pax header"
		}
		switch string(key) {
		case "path":
			t.longName = string(value)
		case "size":
			if t.paxSize, err = strconv.ParseInt(string(value), 10, 64); err != nil || t.paxSize < 0 {
				t.paxSize = -1
				return "a size in a pax header that is no number"
			}
		}
		text = text[n:]
	}
	return ""
}

func (t *tarReader) report(name string, at int64, reason string) {
	t.bad = append(t.bad, MemberError{Name: name, Offset: at, Err: recordError("%s", reason)})
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
	want, ok := tarNumber(b[148:156])
	unsigned, signed := int64(0), int64(0)
	for i, c := range b {
		if i >= 148 && i < 156 {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	return ok && (want == unsigned || want == signed)
}

// tarNumber reads a field in octal, or in base 256 where its first bit is set.
func tarNumber(field []byte) (int64, bool) {
	if field[0]&0x80 != 0 {
		n := int64(field[0] & 0x7f)
		if field[0]&0x40 != 0 {
			return 0, false // negative
		}
		for _, c := range field[1:] {
			if n > 1<<54 {
				return 0, false
			}
			n = n<<8 | int64(c)
		}
		return n, true
	}
	text := bytes.Trim(untilNUL(bytes.TrimLeft(field, " ")), " ")
	if len(text) == 0 {
		return 0, true
	}
	n, err := strconv.ParseInt(string(text), 8, 64)
	return n, err == nil && n >= 0
}

// memberName returns the name of a header, with its prefix where the format is
// POSIX ustar.
func memberName(b *[tarBlock]byte) string {
	name := string(untilNUL(b[:100]))
	if prefix := untilNUL(b[345:500]); string(b[257:263]) == "ustar\x00" && len(prefix) > 0 {
		return string(prefix) + "/" + name
	}
	return name
}

func untilNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// baseName returns what follows the last slash.
func baseName(name string) string { return name[1+bytes.LastIndexByte([]byte(name), '/'):] }
