package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// wire names the subjects, the stream and the store of a run on a server. Several runs
// may share a server.
type wire struct{ prefix string }

// ownWire is that of a run's own server.
var ownWire = wire{"cb"}

// anyMember stands for the member where players have no keys of their own.
const anyMember = "any"

func (w wire) of(what string, p Player) string {
	return strings.Join([]string{w.prefix, what, cmp.Or(p.Member, anyMember), p.Instance}, ".")
}

func (w wire) ask(p Player) string     { return w.of("ask", p) }
func (w wire) games(p Player) string   { return w.of("games", p) }
func (w wire) verdict(p Player) string { return w.of("verdict", p) }
func (w wire) all(what string) string  { return w.prefix + "." + what + ".>" }
func (w wire) stream() string          { return strings.ToUpper(w.prefix) + "_GAMES" }
func (w wire) nets() string            { return strings.ToUpper(w.prefix) + "_NETS" }

// inbox begins the subjects of a member's answers.
func inboxOf(member string) string { return "_INBOX_" + cmp.Or(member, anyMember) }

// player reads who a subject is of.
func (w wire) player(subject string) (Player, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || parts[0] != w.prefix {
		return Player{}, fmt.Errorf("subject %q is of no player", subject)
	}
	p := Player{Member: parts[2], Instance: parts[3]}
	if p.Member == anyMember {
		p.Member = ""
	}
	return p, nil
}

// question is what a player asks: one of the two.
type question struct {
	Hello *Hello `json:"hello,omitempty"`
	Beat  *Beat  `json:"beat,omitempty"`
}

// answer returns what h says to a question, nil to one that is none.
func answer(h Handler, p Player, data []byte) any {
	var q question
	switch err := json.Unmarshal(data, &q); {
	case err == nil && q.Hello != nil:
		return h.Join(p, *q.Hello)
	case err == nil && q.Beat != nil:
		return h.Beat(p, *q.Beat)
	}
	return nil
}

// mayPublish and maySubscribe are all that a member may do.
func (w wire) mayPublish(member string) []string {
	nets := "OBJ_" + w.nets()
	return []string{
		w.prefix + ".ask." + member + ".*", w.prefix + ".games." + member + ".*",
		"$JS.API.STREAM.INFO." + nets, "$JS.API.STREAM.MSG.GET." + nets, "$JS.API.DIRECT.GET." + nets, "$JS.API.DIRECT.GET." + nets + ".>",
		"$JS.API.CONSUMER.CREATE." + nets + ".>", "$JS.API.CONSUMER.DELETE." + nets + ".>", "$JS.FC." + nets + ".>",
		"$JS.API.CONSUMER.INFO." + nets + ".>", "$JS.API.CONSUMER.MSG.NEXT." + nets + ".>", "$JS.ACK." + nets + ".>",
	}
}

func (w wire) maySubscribe(member string) []string {
	return []string{inboxOf(member) + ".>", w.prefix + ".verdict." + member + ".*"}
}
