package checked

import (
	"slices"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// checkedStream orders work, and looks at it.
type checkedStream struct {
	device    *checked
	inner     driver.Stream
	at        string
	destroyed bool
	capture   *capture // nil: runs
}

// capture is what a graph, under way or done, uses.
type capture struct {
	memory    []*span
	functions []*checkedFunction
}

// use notes what a captured call needs for as long as its graph lives.
func (c *capture) use(spans ...*span) {
	if c != nil {
		c.memory = append(c.memory, spans...)
	}
}

func (c *checked) NewStream() (driver.Stream, error) {
	if err := c.check("NewStream", nil); err != nil {
		return nil, err
	}
	s, err := c.inner.NewStream()
	if err != nil {
		return nil, err
	}
	w := &checkedStream{device: c, inner: s, at: caller()}
	c.add(w, "stream of "+w.at)
	return w, nil
}

// check runs rules under the device's lock, if the stream can be used.
func (s *checkedStream) check(call string, rules func() error) error {
	return s.device.check(call, func() error {
		if s.destroyed {
			return s.device.misuse("%s on the stream of %s after Destroy", call, s.at)
		}
		return rules()
	})
}

// onDevice checks a range of device memory. The lock is held.
func (s *checkedStream) onDevice(call string, p driver.Ptr, bytes int) error {
	span := find(s.device.memory, uint64(p), bytes)
	if bytes < 0 || span == nil {
		return s.device.misuse("%s: %d bytes at %#x do not lie in one allocation", call, bytes, p)
	}
	s.capture.use(span)
	return nil
}

// onHost checks host memory of a copy: a graph keeps its address, so it must not
// be Go's. The lock is held.
func (s *checkedStream) onHost(call string, b []byte) error {
	if s.capture == nil {
		return nil
	}
	span := find(s.device.pinned, hostAddress(b), len(b))
	if span == nil {
		return s.device.misuse("%s: captured with host memory that is not of AllocHost", call)
	}
	s.capture.use(span)
	return nil
}

// copies checks a copy between device and host.
func (s *checkedStream) copies(call string, p driver.Ptr, b []byte) error {
	return s.check(call, func() error {
		if len(b) == 0 {
			return nil
		}
		if err := s.onDevice(call, p, len(b)); err != nil {
			return err
		}
		return s.onHost(call, b)
	})
}

func (s *checkedStream) CopyToDevice(dst driver.Ptr, src []byte) error {
	if err := s.copies("CopyToDevice", dst, src); err != nil {
		return err
	}
	return s.inner.CopyToDevice(dst, src)
}

func (s *checkedStream) CopyToHost(dst []byte, src driver.Ptr) error {
	if err := s.copies("CopyToHost", src, dst); err != nil {
		return err
	}
	return s.inner.CopyToHost(dst, src)
}

func (s *checkedStream) CopyOnDevice(dst, src driver.Ptr, bytes int) error {
	err := s.check("CopyOnDevice", func() error {
		if bytes == 0 {
			return nil
		}
		if err := s.onDevice("CopyOnDevice to", dst, bytes); err != nil {
			return err
		}
		if err := s.onDevice("CopyOnDevice from", src, bytes); err != nil {
			return err
		}
		if dst < src.Offset(bytes) && src < dst.Offset(bytes) {
			return s.device.misuse("CopyOnDevice: %d bytes at %#x and at %#x overlap", bytes, dst, src)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.inner.CopyOnDevice(dst, src, bytes)
}

func (s *checkedStream) CopyFromPeer(dst driver.Ptr, peer driver.Device, src driver.Ptr, bytes int) error {
	p, ok := peer.(*checked)
	for w, wraps := peer.(interface{ Unwrap() driver.Device }); wraps && !ok; w, wraps = peer.(interface{ Unwrap() driver.Device }) {
		peer = w.Unwrap()
		p, ok = peer.(*checked)
	}
	err := s.check("CopyFromPeer", func() error {
		switch {
		case !ok || p == s.device:
			return s.device.misuse("CopyFromPeer from %T, which is no other checked device", peer)
		case bytes == 0:
			return nil
		}
		return s.onDevice("CopyFromPeer to", dst, bytes)
	})
	if err != nil {
		return err
	}
	err = p.check("CopyFromPeer", func() error {
		if bytes > 0 && find(p.memory, uint64(src), bytes) == nil {
			return p.misuse("CopyFromPeer from: %d bytes at %#x do not lie in one allocation", bytes, src)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.inner.CopyFromPeer(dst, p.inner, src, bytes)
}

func (s *checkedStream) Memset(dst driver.Ptr, value byte, bytes int) error {
	err := s.check("Memset", func() error {
		if bytes == 0 {
			return nil
		}
		return s.onDevice("Memset", dst, bytes)
	})
	if err != nil {
		return err
	}
	return s.inner.Memset(dst, value, bytes)
}

func (s *checkedStream) Launch(f driver.Function, grid, block driver.Dim, shared int, args []byte) error {
	k, ok := f.(*checkedFunction)
	err := s.check("Launch", func() error {
		if !ok {
			return s.device.misuse("Launch of a kernel (%T) that is not of the checked device", f)
		}
		spans, err := s.device.launchable(k, grid, block, shared, args)
		if err == nil && s.capture != nil && !k.ready {
			err = s.device.misuse("kernel %s comes for the first time in a capture: ask for its Occupancy before, or a GPU may have to load it then", k.Name())
		}
		k.ready = k.ready || err == nil
		if err == nil && s.capture != nil {
			s.capture.use(spans...)
			s.capture.functions = append(s.capture.functions, k)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.inner.Launch(k.Function, grid, block, shared, args)
}

func (s *checkedStream) Synchronize() error {
	err := s.check("Synchronize", func() error {
		if s.capture != nil {
			return s.device.misuse("Synchronize of the stream of %s while it captures", s.at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.inner.Synchronize()
}

func (s *checkedStream) BeginCapture() error {
	err := s.check("BeginCapture", func() error {
		if s.capture != nil {
			return s.device.misuse("BeginCapture on the stream of %s, which captures", s.at)
		}
		s.capture = &capture{}
		return nil
	})
	if err != nil {
		return err
	}
	return s.inner.BeginCapture()
}

func (s *checkedStream) EndCapture() (driver.Graph, error) {
	var uses *capture
	err := s.check("EndCapture", func() error {
		if s.capture == nil {
			return s.device.misuse("EndCapture on the stream of %s, which does not capture", s.at)
		}
		uses, s.capture = s.capture, nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	g, err := s.inner.EndCapture()
	if err != nil {
		return nil, err
	}
	w := &checkedGraph{device: s.device, inner: g, uses: uses}
	s.device.add(w, "graph of "+caller())
	return w, nil
}

func (s *checkedStream) LaunchGraph(g driver.Graph) error {
	w, ok := g.(*checkedGraph)
	err := s.check("LaunchGraph", func() error {
		switch {
		case !ok || w.device != s.device:
			return s.device.misuse("LaunchGraph of a graph (%T) of another device", g)
		case w.destroyed:
			return s.device.misuse("LaunchGraph after Destroy of the graph")
		case s.capture != nil:
			return s.device.misuse("LaunchGraph on the stream of %s while it captures", s.at)
		}
		return w.usable()
	})
	if err != nil {
		return err
	}
	return s.inner.LaunchGraph(w.inner)
}

func (s *checkedStream) Destroy() error {
	err := s.check("Destroy", func() error {
		if s.capture != nil {
			return s.device.misuse("Destroy of the stream of %s while it captures", s.at)
		}
		s.destroyed = true
		delete(s.device.live, s)
		return nil
	})
	if err != nil {
		return err
	}
	return s.inner.Destroy()
}

// checkedGraph is captured work.
type checkedGraph struct {
	device    *checked
	inner     driver.Graph
	uses      *capture
	destroyed bool
}

// usable fails where something that the graph uses is gone. The lock is held.
func (g *checkedGraph) usable() error {
	if i := slices.IndexFunc(g.uses.memory, func(m *span) bool { return m.freed }); i >= 0 {
		return g.device.misuse("LaunchGraph: the graph uses memory of %s, which is freed", g.uses.memory[i].at)
	}
	if i := slices.IndexFunc(g.uses.functions, func(f *checkedFunction) bool { return f.module.unloaded }); i >= 0 {
		return g.device.misuse("LaunchGraph: the graph uses kernel %s, which is unloaded", g.uses.functions[i].Name())
	}
	return nil
}

func (g *checkedGraph) Destroy() error {
	err := g.device.check("Destroy of a graph", func() error {
		if g.destroyed {
			return g.device.misuse("graph destroyed twice")
		}
		g.destroyed = true
		delete(g.device.live, g)
		return nil
	})
	if err != nil {
		return err
	}
	return g.inner.Destroy()
}
