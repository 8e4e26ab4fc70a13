package loader

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

const ledgerVersion = 1

// Section is the keys of all contents: for each, in the order of the keys,
// uvarint length of the key, the key, 16 bytes of fingerprint. After Load a
// file that was renamed in between keeps its key.
func (p *filePathProvider) Section() stage.Section {
	return stage.Section{Name: p.config.Name, Version: ledgerVersion, Save: p.save, Load: p.load}
}

func (p *filePathProvider) save(w io.Writer) error {
	var data []byte
	p.mu.Lock()
	for _, key := range slices.Sorted(maps.Keys(p.ledger.keys)) {
		c := p.ledger.keys[key]
		data = binary.AppendUvarint(data, uint64(len(key)))
		data = append(data, key...)
		data = append(data, c.print[:]...)
	}
	p.mu.Unlock()
	_, err := w.Write(data)
	return err
}

func (p *filePathProvider) load(r io.Reader, version int) error {
	if version != ledgerVersion {
		return fmt.Errorf("list of files has version %d, this program reads %d", version, ledgerVersion)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("list of files: %w", err)
	}
	l := newLedger(p.fingerprint)
	for total := len(data); len(data) > 0; {
		length, n := binary.Uvarint(data)
		if n <= 0 || length == 0 || length > uint64(len(data)-n) || len(data)-n-int(length) < len(fingerprint{}) {
			return fmt.Errorf("list of files of %d bytes is damaged at byte %d", total, total-len(data))
		}
		key := string(data[n : n+int(length)])
		data = data[n+int(length):]
		c := &content{key: key, print: fingerprint(data[:len(fingerprint{})])}
		data = data[len(c.print):]
		if l.keys[key] != nil {
			return fmt.Errorf("list of files: %q is in it twice", key)
		}
		l.keys[key] = c
		l.prints[c.print] = c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger = l
	return nil
}
