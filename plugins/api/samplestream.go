package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// maxAhead is the most draws that are under way.
const maxAhead = 16

// sampleStream is a stream of draws and their answers. A goroutine takes the
// answers, so that whoever waits for one can give up and leave it unread.
type sampleStream struct {
	stream  grpc.BidiStreamingClient[pluginpb.SampleRequest, pluginpb.SampleReply]
	cancel  context.CancelFunc // ends the stream and the goroutine
	answers chan answer

	batch  uint64 // of the newest draw
	unread int    // draws whose answers were not taken
	n      int    // rows of each of them
	missed bool   // they are not wanted: one was waited for in vain, or the last one was an error
}

// answer is what came of a draw.
type answer struct {
	reply *pluginpb.SampleReply
	err   error
}

// openSample opens a stream that lives no longer than ctx.
func openSample(ctx context.Context, c *Conn) (*sampleStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.sampler.Sample(ctx, c.options...)
	if err != nil {
		cancel()
		return nil, explain("sample", err)
	}
	s := &sampleStream{stream: stream, cancel: cancel, answers: make(chan answer, maxAhead+1)}
	go s.receive(ctx)
	return s, nil
}

func (s *sampleStream) receive(ctx context.Context) {
	for {
		reply, err := s.stream.Recv()
		select {
		case s.answers <- answer{reply, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// wanted says whether the next answer is that of a draw of n rows.
func (s *sampleStream) wanted(n int) bool { return !s.missed && s.n == n }

// send sends a state to go back to, if there is one, what is new in idx and a
// number of draws. No answer is unread.
func (s *sampleStream) send(back *State, sent *indexSender, idx stage.Index, n, draws int) error {
	var err error
	if back != nil {
		err = s.stream.Send(&pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_State{State: encodeState(*back)}})
	}
	if err == nil {
		err = sent.update(idx, func(u *pluginpb.IndexUpdate) error {
			return s.stream.Send(&pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_Index{Index: u}})
		})
	}
	s.n, s.missed = n, false
	for i := 0; i < draws && err == nil; i++ {
		s.batch++
		s.unread++
		draw := &pluginpb.Draw{Batch: s.batch, N: uint32(n)}
		err = s.stream.Send(&pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_Draw{Draw: draw}})
	}
	if err != nil && !errors.Is(err, io.EOF) { // after io.EOF, Recv has the reason
		return explain("sample", err)
	}
	if s.unread == 0 {
		s.unread = 1 // that reason
	}
	return nil
}

// next returns the next answer. At the end of ctx it stays unread.
func (s *sampleStream) next(ctx context.Context) (*pluginpb.SampleReply, error) {
	var a answer
	select {
	case a = <-s.answers:
	case <-ctx.Done():
		s.missed = true
		return nil, ctx.Err()
	}
	want := s.batch - uint64(s.unread) + 1
	s.unread--
	switch {
	case errors.Is(a.err, io.EOF):
		return nil, wrongAnswer("sample: the plugin ended the stream")
	case a.err != nil:
		return nil, explain("sample", a.err)
	case a.reply.GetBatch() != want:
		return nil, wrongAnswer("sample: an answer to draw %d, want draw %d", a.reply.GetBatch(), want)
	}
	return a.reply, nil
}

// drain takes all answers that are unread.
func (s *sampleStream) drain(ctx context.Context) error {
	for s.unread > 0 {
		if _, err := s.next(ctx); err != nil {
			return err
		}
	}
	return nil
}
