package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

const maxKeyBytes = 1 << 16 // of a source's key

var errPoolState = errors.New("state of the chunk pool is damaged")

// savedSpan is a span of a checkpoint.
type savedSpan struct {
	key    string
	offset int
	uses   []uint32 // of each chunk
}

// Section is the shuffler, the generator of the hanse tosses, the sources in
// the order of their chunks, and how often each chunk of the window was handed
// out. Over the same files the same chunks follow.
//
// Layout: the shuffler's state | generator 20 | uvarint number of the first
// chunk | for each span uvarint length of the key, the key, uvarint offset,
// uvarint number of chunks, a uvarint use count each. Weights are read from the
// chunks again.
func (p *chunkPool) Section() stage.Section {
	return replay.BytesSection(p.config.Name, "state of the chunk pool", 1, p.save, p.load)
}

func (p *chunkPool) save() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	data, _ := p.pcg.AppendBinary(p.stream.AppendState(nil)) // never fails
	if p.saved != nil {
		return appendSpans(binary.AppendUvarint(data, p.base), p.saved), nil
	}
	return appendSpans(binary.AppendUvarint(data, p.window.first), p.window.saved()), nil
}

// saved returns the spans of the window, cut to it.
func (w *poolWindow) saved() []savedSpan {
	spans := make([]savedSpan, 0, len(w.spans))
	for _, s := range w.spans {
		skip := int(max(w.first, s.base) - s.base)
		v := savedSpan{key: s.source.key, offset: s.offset + skip}
		for i := skip; i < s.n; i++ {
			v.uses = append(v.uses, w.slot(s.base+uint64(i)).use)
		}
		spans = append(spans, v)
	}
	return spans
}

// restore numbers the chunks of saved spans from base on. Those whose source
// does not come are dead.
func (w *poolWindow) restore(spans []savedSpan, base uint64) {
	w.first, w.hi = base, base
	for _, v := range spans {
		src := w.sources[v.key]
		if src == nil {
			src = &poolSource{key: v.key}
			w.sources[v.key] = src
		}
		w.append(&span{source: src, offset: v.offset, n: len(v.uses)})
		src.chunks = v.offset + len(v.uses)
		for i, use := range v.uses {
			*w.slot(w.hi - uint64(len(v.uses)-i)) = slot{use: use, state: slotDead}
		}
	}
}

func appendSpans(data []byte, spans []savedSpan) []byte {
	for _, v := range spans {
		data = binary.AppendUvarint(data, uint64(len(v.key)))
		data = append(data, v.key...)
		data = binary.AppendUvarint(data, uint64(v.offset))
		data = binary.AppendUvarint(data, uint64(len(v.uses)))
		for _, use := range v.uses {
			data = binary.AppendUvarint(data, uint64(use))
		}
	}
	return data
}

func (p *chunkPool) load(data []byte) error {
	d, stream, pcg := replay.Decoder{Data: data}, NewStream(new(rand.PCG)), new(rand.PCG)
	if err := stream.SetState(&d); err != nil {
		return err
	}
	if err := setPCG(pcg, d.Take(pcgBytes)); err != nil {
		return err
	}
	base, spans, err := readSpans(&d)
	if err != nil {
		return err
	}
	chunks := uint64(0)
	for _, v := range spans {
		chunks += uint64(len(v.uses))
	}
	if lo, hi := stream.Window(); lo < base || hi > base+chunks {
		return errPoolState
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.pcg = *pcg
	p.stream, p.base, p.saved = stream, base, spans
	return nil
}

// readSpans reads what appendSpans wrote behind the number of the first chunk.
func readSpans(d *replay.Decoder) (base uint64, spans []savedSpan, err error) {
	base = d.Uvarint(1 << 62)
	for d.More() {
		v := savedSpan{key: string(d.Bytes(maxKeyBytes)), offset: int(d.Uvarint(maxWindow))}
		v.uses = make([]uint32, d.Uvarint(uint64(len(d.Data)-d.Pos)))
		for i := range v.uses {
			v.uses[i] = uint32(d.Uvarint(math.MaxUint32))
		}
		spans = append(spans, v)
	}
	if d.Err != nil {
		return 0, nil, fmt.Errorf("%w at byte %d: %w", errPoolState, d.Pos, d.Err)
	}
	return base, spans, nil
}
