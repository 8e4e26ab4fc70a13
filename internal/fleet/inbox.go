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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	ackWait    = time.Minute      // for a chunk in the hands of the run
	inFlight   = 256              // chunks in the hands of the run
	duplicates = 2 * time.Minute  // within which a server drops a second copy
	apiTime    = 10 * time.Second // for an answer of a server
)

// natsInbox is an Inbox on a connection.
type natsInbox struct {
	nc       *nats.Conn
	log      *slog.Logger
	messages jetstream.MessagesContext
	store    jetstream.ObjectStore
	asked    *nats.Subscription
}

// newInbox makes the mailbox, which takes so many bytes, and the store of nets, where they
// are not there, and answers players from then on. It owns nc.
func newInbox(nc *nats.Conn, h Handler, mailbox int64, log *slog.Logger) (Inbox, error) {
	x := &natsInbox{nc: nc, log: log}
	if err := x.open(h, mailbox); err != nil {
		return nil, errors.Join(fmt.Errorf("fleet's inbox: %w", err), x.Close())
	}
	return x, nil
}

func (x *natsInbox) open(h Handler, mailbox int64) error {
	js, err := jetstream.New(x.nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: gamesStream, Subjects: []string{ofAll("games")}, Retention: jetstream.WorkQueuePolicy,
		MaxBytes: mailbox, Discard: jetstream.DiscardNew, Duplicates: duplicates,
	})
	if err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	// What an earlier process had in its hands is handed out at once, not after ackWait.
	if err := stream.DeleteConsumer(ctx, "run"); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("mailbox: %w", err)
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "run", AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: inFlight,
	})
	if err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	if x.messages, err = consumer.Messages(jetstream.PullMaxMessages(inFlight / 2)); err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	if x.store, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: netsBucket}); err != nil {
		return fmt.Errorf("store of nets: %w", err)
	}
	x.asked, err = x.nc.Subscribe(ofAll("ask"), func(m *nats.Msg) { x.answer(h, m) })
	return err
}

// answer answers a player.
func (x *natsInbox) answer(h Handler, m *nats.Msg) {
	p, err := playerOf(m.Subject)
	if err != nil {
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
		m, err := x.messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, cmp.Or(ctx.Err(), err)
		}
		p, err := playerOf(m.Subject())
		if err != nil {
			x.log.Warn("a message in the mailbox is of no player", "error", err)
			if err := m.Term(); err != nil {
				return nil, err
			}
			continue
		}
		d := &Delivery{Chunk: Chunk{Player: p, Data: m.Data()}}
		d.settle = func(v Verdict) error { return x.settle(m, p, v) }
		return d, nil
	}
}

// settle tells the player first: a mailbox that forgets the acknowledgement hands the
// chunk over again, which does no harm.
func (x *natsInbox) settle(m jetstream.Msg, p Player, v Verdict) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = x.nc.Publish(verdictSubject(p), data)
	}
	return errors.Join(err, m.Ack())
}

// Publish makes a net known and removes the oldest beyond KeptNets.
func (x *natsInbox) Publish(ctx context.Context, r NetRef, file []byte) error {
	if err := checkFile(r, file); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	there, err := x.store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return fmt.Errorf("publish net %s: %w", r.Name, err)
	}
	if !slices.ContainsFunc(there, func(o *jetstream.ObjectInfo) bool { return o.Name == r.SHA256 }) {
		if _, err := x.store.PutBytes(ctx, r.SHA256, file); err != nil {
			return fmt.Errorf("publish net %s: %w", r.Name, err)
		}
	}
	slices.SortFunc(there, func(a, b *jetstream.ObjectInfo) int { return b.ModTime.Compare(a.ModTime) })
	for i, o := range there {
		if i >= KeptNets-1 && o.Name != r.SHA256 {
			if err := x.store.Delete(ctx, o.Name); err != nil {
				return fmt.Errorf("remove an old net: %w", err)
			}
		}
	}
	return nil
}

// Close ends the inbox. What nobody settled comes again.
func (x *natsInbox) Close() error {
	if x.messages != nil {
		x.messages.Stop()
	}
	err := x.nc.Flush()
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil
	}
	x.nc.Close()
	return err
}

// full says whether a server refused a message because the mailbox is full.
func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum")
}
