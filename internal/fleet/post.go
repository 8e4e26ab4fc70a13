package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// natsPost is a Post on a connection.
type natsPost struct {
	asker
	nc       *nats.Conn
	js       jetstream.JetStream
	player   Player
	verdicts chan Verdict
}

// Dial connects a player to the server, or the directory, of a link. A connection that is
// lost is made again for ever, with jitter; log says so. So is the first one where patient.
// instance is random and stays the same for a player.
func Dial(link Link, instance string, patient bool, log *slog.Logger) (Post, error) {
	if IsDirectory(link.Address) {
		return dialDirectory(link, instance, DefaultMailbox, patient, log)
	}
	nc, err := link.dial(instance, patient, log)
	if err != nil {
		return nil, err
	}
	_, key, err := link.keys()
	if err != nil {
		return nil, err
	}
	return newPost(nc, Player{Member: key, Instance: instance})
}

// keys are the member's pair of a link, and its public half.
func (l Link) keys() (pair nkeys.KeyPair, public string, err error) {
	if pair, err = nkeys.FromSeed([]byte(l.Seed)); err == nil {
		public, err = pair.PublicKey()
	}
	if err != nil {
		err = fmt.Errorf("key of the link: %w", err)
	}
	return pair, public, err
}

// ErrNoMember says that a server does not know a key.
var ErrNoMember = errors.New("takes this link's key no more, or never did: it was revoked, or the run has begun anew. Ask for a new link (chessbrain fleet invite)")

// dial connects to a server of a link. patient goes on trying where nobody answers.
func (l Link) dial(name string, patient bool, log *slog.Logger) (*nats.Conn, error) {
	pair, key, err := l.keys()
	if err != nil {
		return nil, err
	}
	connect := func(retry bool) (*nats.Conn, error) {
		return nats.Connect(urls(l.Address), nats.Nkey(key, pair.Sign), nats.Secure(l.tls()), nats.CustomInboxPrefix(inboxOf(key)),
			nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond), nats.ReconnectJitter(3*time.Second, 3*time.Second),
			nats.Timeout(apiTime), nats.IgnoreAuthErrorAbort(), nats.ReconnectBufSize(-1), // what is sent without a connection fails at once
			nats.RetryOnFailedConnect(retry),
			nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
				if err != nil {
					log.Warn("the connection is lost; games are kept until it is back", "server", l.Address, "error", err)
				}
			}),
			nats.ReconnectHandler(func(*nats.Conn) { log.Info("the connection is back", "server", l.Address) }),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
				if !errors.Is(err, nats.ErrAuthorization) { // of each try to connect; ask says it once
					log.Warn("fleet", "error", err)
				}
			}))
	}
	nc, err := connect(false)
	if patient && (errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, os.ErrDeadlineExceeded)) {
		log.Warn("nobody answers; this goes on trying", "server", l.Address, "error", err)
		nc, err = connect(true)
	}
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("%s %w", l.Address, ErrNoMember)
	case errors.Is(err, errOtherKey):
		return nil, fmt.Errorf("reach the server at %s: %w", l.Address, err)
	case err != nil:
		return nil, l.unreached(err)
	}
	return nc, nil
}

// unreached says in words that nobody answers: the kind of err says nothing of this
// machine's files.
func (l Link) unreached(err error) error {
	if IsDirectory(l.Address) {
		return fmt.Errorf("reach the run through its directory: %v; is %s mounted here, and has a run opened it (--listen)?", err, l.Address)
	}
	return fmt.Errorf("reach the server at %s: %v; is it at work, and does the port let this machine in?", l.Address, err)
}

// Reach tries whether one of the link's servers takes a connection, or its directory is
// the run's.
func (l Link) Reach() (err error) {
	if IsDirectory(l.Address) {
		_, err = readKeyFile(l)
		return err
	}
	for address := range strings.SplitSeq(l.Address, ",") {
		var c net.Conn
		if c, err = net.DialTimeout("tcp", address, apiTime); err == nil {
			return c.Close()
		}
	}
	return l.unreached(err)
}

// newPost returns the player's side on nc, which it owns.
func newPost(nc *nats.Conn, player Player) (Post, error) {
	p := &natsPost{nc: nc, player: player, verdicts: make(chan Verdict, verdictRoom)}
	p.asker = p.ask
	var err error
	if p.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(apiTime)); err == nil {
		_, err = nc.Subscribe(verdictSubject(player), func(m *nats.Msg) {
			var v Verdict
			if json.Unmarshal(m.Data, &v) == nil {
				hand(p.verdicts, v)
			}
		})
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("join the fleet: %w", err)
	}
	return p, nil
}

// ask asks the run.
func (p *natsPost) ask(ctx context.Context, q question, into any) error {
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	m, err := p.nc.RequestWithContext(ctx, askSubject(p.player), data)
	if err != nil && errors.Is(p.nc.LastError(), nats.ErrAuthorization) {
		return fmt.Errorf("the run's server %w", ErrNoMember)
	}
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return fmt.Errorf("%w: there is no connection to it", ErrNoAnswer)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return json.Unmarshal(m.Data, into)
}

func (p *natsPost) Fetch(ctx context.Context, r NetRef) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*apiTime)
	defer cancel()
	store, err := p.js.ObjectStore(ctx, netsBucket)
	var file []byte
	if err == nil {
		file, err = store.GetBytes(ctx, r.SHA256)
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		err = ErrNoNet
	}
	return fetched(r, file, err)
}

func (p *natsPost) Deliver(ctx context.Context, data []byte, attempt int) error {
	if err := checkSize(data); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	id := SumOf(data) + "-" + strconv.Itoa(attempt) // a server drops what has the id of an earlier message
	_, err := p.js.PublishMsg(ctx, &nats.Msg{Subject: gamesSubject(p.player), Data: data}, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
	switch {
	case full(err):
		return ErrFull
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return errors.New("there is no connection to the run")
	}
	if err != nil {
		return fmt.Errorf("deliver games: %w", err)
	}
	return nil
}

func (p *natsPost) Verdicts() <-chan Verdict { return p.verdicts }

func (p *natsPost) Close() error {
	p.nc.Close()
	return nil
}
