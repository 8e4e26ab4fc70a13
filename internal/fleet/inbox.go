package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	ackWait    = time.Minute      // for a chunk in the hands of the run
	inFlight   = 256              // chunks in the hands of the run
	duplicates = 2 * time.Minute  // within which a server drops a second copy
	apiTime    = 10 * time.Second // for an answer of a server
	openTime   = time.Minute      // for a cluster that is choosing a leader
	openPause  = 100 * time.Millisecond

	maxReplicas = 3 // of games and nets in a cluster
	runConsumer = "run"
)

// natsInbox is an Inbox on a connection.
type natsInbox struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	mailbox  int64 // most bytes of games that wait
	replicas int   // of games and nets, each on a server of its own
	log      *slog.Logger

	mu       sync.Mutex
	closed   bool
	messages jetstream.MessagesContext
	newest   NetRef // that was published
	file     []byte
}

// newInbox makes the mailbox, which takes so many bytes, and the store of nets, where they
// are not there, and answers players from then on. It owns nc.
func newInbox(nc *nats.Conn, h Handler, mailbox int64, log *slog.Logger) (Inbox, error) {
	x := &natsInbox{nc: nc, mailbox: cmp.Or(mailbox, DefaultMailbox), replicas: 1, log: log}
	if nc.ConnectedClusterName() != "" {
		x.replicas = min(maxReplicas, len(nc.Servers()))
	}
	var err error
	if x.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(apiTime)); err == nil {
		err = x.openFirst()
	}
	if err == nil {
		_, err = nc.Subscribe(ofAll("ask"), func(m *nats.Msg) { x.answer(h, m) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fleet's inbox: %w", err), x.Close())
	}
	return x, nil
}

// openFirst is open, for servers that have just begun, or one of which has just failed: it
// asks again, for openTime.
func (x *natsInbox) openFirst() (err error) {
	for end, first := time.Now().Add(openTime), true; ; first = false {
		ctx, cancel := context.WithTimeout(context.Background(), apiTime/2)
		err = x.open(ctx)
		cancel()
		if err == nil || !unready(err) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: do all servers of the run run?", err)
		}
		if first {
			x.log.Info("the fleet's servers are not ready; the run waits for them", "error", err, "at_most", openTime)
		}
		if x.messages != nil {
			x.messages.Stop()
		}
		time.Sleep(openPause)
	}
}

// What servers answer, by the numbers of nats-server's errors.json, while one of them is
// away or has not come yet.
const (
	noPeers      = 10005
	notAvailable = 10008
)

// unready says whether err is of servers that may be ready later.
func unready(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == noPeers || api.ErrorCode == notAvailable
	}
	return errors.Is(err, context.DeadlineExceeded) // whom it asked has failed
}

// open makes what the server does not have, and takes the mailbox over.
func (x *natsInbox) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	stream, err := x.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: gamesStream, Subjects: []string{ofAll("games")}, Retention: jetstream.WorkQueuePolicy,
		MaxBytes: x.mailbox, Discard: jetstream.DiscardNew, Duplicates: duplicates, Replicas: x.replicas,
	})
	if err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	// What an earlier process had in its hands is handed out at once, not after ackWait.
	if err := stream.DeleteConsumer(ctx, runConsumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("mailbox: %w", err)
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: runConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: inFlight,
	})
	if err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	if x.messages, err = consumer.Messages(jetstream.PullMaxMessages(inFlight / 2)); err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	if x.file == nil {
		_, err = x.nets(ctx)
		return err
	}
	return x.put(ctx, x.newest, x.file)
}

// nets is the store of nets. jetstream would make its stream with direct reads, which any
// server of a cluster answers, also one that does not have the newest net yet; so the
// leader of the stream reads.
func (x *natsInbox) nets(ctx context.Context) (jetstream.ObjectStore, error) {
	_, err := x.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: netsStream, Subjects: []string{"$O." + netsBucket + ".C.>", "$O." + netsBucket + ".M.>"},
		Discard: jetstream.DiscardNew, AllowRollup: true, Replicas: x.replicas,
	})
	var store jetstream.ObjectStore
	if err == nil {
		store, err = x.js.ObjectStore(ctx, netsBucket)
	}
	if err != nil {
		return nil, fmt.Errorf("store of nets: %w", err)
	}
	return store, nil
}

// answer answers a player.
func (x *natsInbox) answer(h Handler, m *nats.Msg) {
	p, err := playerOf(m.Subject)
	if err != nil || !strings.HasPrefix(m.Reply, inboxOf(p.Member)+".") { // the run may publish what the member may not
		return
	}
	reply := answer(h, p, m.Data)
	if reply == nil {
		reply = State{Refused: "the run does not understand the question: the programs differ too much; install the same on both machines"}
	}
	data, err := json.Marshal(reply)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		x.log.Warn("a player of the fleet has no answer", "error", err)
	}
}

// Next waits for a delivery.
func (x *natsInbox) Next(ctx context.Context) (*Delivery, error) {
	for {
		x.mu.Lock()
		messages := x.messages
		x.mu.Unlock()
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			if err = x.reopen(ctx, messages, err); err != nil {
				return nil, cmp.Or(ctx.Err(), err)
			}
			continue
		}
		p, err := playerOf(m.Subject())
		if err != nil {
			x.log.Warn("a message in the mailbox is of no player", "error", err)
			if err := m.Term(); err != nil {
				return nil, err
			}
			continue
		}
		return &Delivery{Chunk{p, m.Data()}, func(v Verdict) error { return x.settle(m, p, v) }}, nil
	}
}

// reopen takes the mailbox over again after a failure of its messages: a server of a
// cluster ended, or came back without what it had stored. It is patient.
func (x *natsInbox) reopen(ctx context.Context, failed jetstream.MessagesContext, failure error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for first := true; x.messages == failed; first = false { // nobody else has done it
		if x.closed || ctx.Err() != nil || x.nc.IsClosed() {
			return failure
		}
		if errors.Is(failure, jetstream.ErrNoHeartbeat) { // perhaps all is well, and the machine busy
			if _, err := x.js.Consumer(ctx, gamesStream, runConsumer); err == nil {
				return nil
			}
		}
		if first {
			x.log.Warn("the fleet's mailbox failed; it is opened again", "error", failure)
		}
		err := x.open(ctx)
		if err == nil {
			failed.Stop()
			x.log.Info("the fleet's mailbox is open again")
			return nil
		}
		if x.messages != failed {
			x.messages.Stop()
		}
		x.messages, failure = failed, err
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

// settle tells the player first: a mailbox that forgets the acknowledgement hands the
// chunk over again, which does no harm.
func (x *natsInbox) settle(m jetstream.Msg, p Player, v Verdict) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = x.nc.Publish(verdictSubject(p), data)
	}
	if err = errors.Join(err, m.Ack()); err == nil || x.nc.IsClosed() {
		return err
	}
	x.log.Warn("a player hears of its games later", "error", err)
	return nil
}

// Publish makes a net known, to play with.
func (x *natsInbox) Publish(ctx context.Context, r NetRef, file []byte) error {
	return x.publish(ctx, r, file, true)
}

// Store makes a net known that nobody plays with but matches.
func (x *natsInbox) Store(ctx context.Context, r NetRef, file []byte) error {
	return x.publish(ctx, r, file, false)
}

func (x *natsInbox) publish(ctx context.Context, r NetRef, file []byte, toPlay bool) error {
	if err := checkFile(r, file); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.put(ctx, r, file)
	if err == nil && toPlay {
		x.newest, x.file = r, file
	}
	return err
}

// put makes a net known and removes the oldest beyond KeptNets. mu is held.
func (x *natsInbox) put(ctx context.Context, r NetRef, file []byte) error {
	store, err := x.nets(ctx)
	if err != nil {
		return fmt.Errorf("publish net %s: %w", r.Name, err)
	}
	there, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return fmt.Errorf("publish net %s: %w", r.Name, err)
	}
	if slices.ContainsFunc(there, func(o *jetstream.ObjectInfo) bool { return o.Name == r.SHA256 }) {
		err = store.UpdateMeta(ctx, r.SHA256, jetstream.ObjectMeta{Name: r.SHA256}) // it is new again
	} else {
		_, err = store.PutBytes(ctx, r.SHA256, file)
	}
	if err != nil {
		return fmt.Errorf("publish net %s: %w", r.Name, err)
	}
	slices.SortFunc(there, func(a, b *jetstream.ObjectInfo) int { return b.ModTime.Compare(a.ModTime) })
	for i, o := range there {
		if i >= KeptNets-1 && o.Name != r.SHA256 && o.Name != x.newest.SHA256 {
			if err := store.Delete(ctx, o.Name); err != nil {
				return fmt.Errorf("remove an old net: %w", err)
			}
		}
	}
	return nil
}

// Close ends the inbox. What nobody settled comes again.
func (x *natsInbox) Close() error {
	x.mu.Lock()
	x.closed = true
	if x.messages != nil {
		x.messages.Stop()
	}
	x.mu.Unlock()
	err := x.nc.Flush()
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil
	}
	x.nc.Close()
	return err
}

// full says whether a server refused a message because the mailbox is full.
func full(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && strings.Contains(api.Description, "maximum")
}
