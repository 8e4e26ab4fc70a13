package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Subjects of a player are cb.WHAT.MEMBER.INSTANCE.
const prefix = "cb"

// Names of the mailbox and of the store of nets.
const (
	gamesStream = "CB_GAMES"
	netsBucket  = "CB_NETS"
	netsStream  = "OBJ_" + netsBucket
)

func subject(what string, p Player) string {
	return strings.Join([]string{prefix, what, p.Member, p.Instance}, ".")
}

func askSubject(p Player) string     { return subject("ask", p) }
func gamesSubject(p Player) string   { return subject("games", p) }
func verdictSubject(p Player) string { return subject("verdict", p) }

// ofAll are the subjects of all players.
func ofAll(what string) string { return prefix + "." + what + ".>" }

// inboxOf begins the subjects of a member's answers.
func inboxOf(member string) string { return "_INBOX_" + member }

// playerOf reads who a subject is of.
func playerOf(subject string) (Player, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || parts[0] != prefix {
		return Player{}, fmt.Errorf("subject %q is of no player", subject)
	}
	return Player{Member: parts[2], Instance: parts[3]}, nil
}

// question is what a player asks: one of these.
type question struct {
	Hello   *Hello   `json:"hello,omitempty"`
	Beat    *Beat    `json:"beat,omitempty"`
	Lease   bool     `json:"lease,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// asker asks the run, in what way ever.
type asker func(ctx context.Context, q question, into any) error

// Join asks to play.
func (ask asker) Join(ctx context.Context, h Hello) (w Welcome, err error) {
	err = ask(ctx, question{Hello: &h}, &w)
	return w, err
}

// Beat tells that the player is there.
func (ask asker) Beat(ctx context.Context, b Beat) (s State, err error) {
	err = ask(ctx, question{Beat: &b}, &s)
	return s, err
}

// Lease asks for a task.
func (ask asker) Lease(ctx context.Context) (t Task, err error) {
	err = ask(ctx, question{Lease: true}, &t)
	return t, err
}

// Finish hands a task back.
func (ask asker) Finish(ctx context.Context, o Outcome) error {
	return ask(ctx, question{Outcome: &o}, &struct{}{})
}

// answer returns what h says to a question, nil to one that is none.
func answer(h Handler, p Player, data []byte) any {
	var q question
	switch err := json.Unmarshal(data, &q); {
	case err == nil && q.Hello != nil:
		return h.Join(p, *q.Hello)
	case err == nil && q.Beat != nil:
		return h.Beat(p, *q.Beat)
	case err == nil && q.Lease:
		return h.Lease(p)
	case err == nil && q.Outcome != nil:
		h.Finish(p, *q.Outcome)
		return struct{}{}
	}
	return nil
}

// mayPublish and maySubscribe are all that a member may do.
func mayPublish(member string) []string {
	const nets = netsStream
	return []string{
		prefix + ".ask." + member + ".*", prefix + ".games." + member + ".*",
		"$JS.API.STREAM.INFO." + nets, "$JS.API.STREAM.MSG.GET." + nets,
		"$JS.API.CONSUMER.CREATE." + nets + ".>", "$JS.API.CONSUMER.DELETE." + nets + ".>", "$JS.FC." + nets + ".>",
		"$JS.API.CONSUMER.INFO." + nets + ".>", "$JS.API.CONSUMER.MSG.NEXT." + nets + ".>", "$JS.ACK." + nets + ".>",
	}
}

func maySubscribe(member string) []string {
	return []string{inboxOf(member) + ".>", prefix + ".verdict." + member + ".*"}
}
