package catalogue

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// schemaVersion is the version of the tables. Another one is ErrOther: the
// catalogue is made anew.
const schemaVersion = 1

// table is how a slice of structs is stored: a column for each of their fields.
type table struct {
	name    string
	columns string
}

// create returns the statement that makes the table, as sqlite keeps it.
func (t *table) create() string { return "CREATE TABLE " + t.name + " (" + t.columns + ")" }

// insert returns the statement that adds a row.
func (t *table) insert() string {
	return "INSERT INTO " + t.name + " VALUES (?" + strings.Repeat(", ?", strings.Count(t.columns, ",")) + ")"
}

// query returns the statement that reads all rows in the order in which they were
// added.
func (t *table) query() string { return "SELECT * FROM " + t.name + " ORDER BY rowid" }

var (
	netTable = table{"nets", "name TEXT, state TEXT, path TEXT, bytes INTEGER, modified TEXT, sha256 TEXT, net_id TEXT, arch TEXT, params INTEGER, " +
		"job TEXT, weights TEXT, step INTEGER, samples INTEGER, rows INTEGER, parent TEXT, program TEXT, problem TEXT, " +
		"gate_decision TEXT, gate_baseline TEXT, gate_games INTEGER, gate_points REAL, gate_elo REAL, gate_error REAL, gate_reason TEXT, gate_ended TEXT"}
	matchTable = table{"matches", "path TEXT, kind TEXT, bytes INTEGER, modified TEXT, player1 TEXT, player2 TEXT, sha1 TEXT, sha2 TEXT, settings TEXT, " +
		"wins INTEGER, draws INTEGER, losses INTEGER, pairs0 INTEGER, pairs1 INTEGER, pairs2 INTEGER, pairs3 INTEGER, pairs4 INTEGER, " +
		"plies INTEGER, ends TEXT, program TEXT, began TEXT, problem TEXT"}
	ratingTable = table{"ratings", "name TEXT, kind TEXT, elo REAL, error REAL, games INTEGER, points REAL, draws INTEGER, " +
		"part INTEGER, anchor INTEGER, prior INTEGER"}
	publishedTable = table{"published", "training TEXT, path TEXT, net_id TEXT, exporter TEXT, bytes INTEGER"}

	tables = []*table{&netTable, &matchTable, &ratingTable, &publishedTable}
)

// row is a struct of a table: pointers to its fields in the order of the columns,
// to be read and to be written.
type row[T any] interface {
	*T
	fields() []any
}

func (n *Net) fields() []any {
	g := &n.Gate
	return []any{&n.Name, &n.State, &n.Path, &n.Bytes, (*stamp)(&n.Modified), &n.SHA256, &n.NetID, &n.Arch, &n.Params,
		&n.Job, &n.Weights, &n.Step, &n.Samples, &n.Rows, &n.Parent, &n.Program, &n.Problem,
		&g.Decision, &g.Baseline, &g.Games, &g.Points, &g.Elo, &g.Error, &g.Reason, (*stamp)(&g.Ended)}
}

func (m *Match) fields() []any {
	p := &m.Pairs
	return []any{&m.Path, &m.Kind, &m.Bytes, (*stamp)(&m.Modified), &m.Player1, &m.Player2, &m.SHA1, &m.SHA2, &m.Settings,
		&m.Wins, &m.Draws, &m.Losses, &p[0], &p[1], &p[2], &p[3], &p[4], &m.Plies, &m.Ends, &m.Program, (*stamp)(&m.Began), &m.Problem}
}

func (r *Rating) fields() []any {
	return []any{&r.Name, &r.Kind, &r.Elo, &r.Error, &r.Games, &r.Points, &r.Draws, &r.Group, &r.Anchor, &r.Prior}
}

func (p *Published) fields() []any {
	return []any{&p.Training, &p.Path, &p.NetID, &p.Exporter, &p.Bytes}
}

// stamp stores a time as RFC 3339 with nanoseconds, UTC; the zero time is empty.
type stamp time.Time

// Value implements driver.Valuer.
func (s stamp) Value() (driver.Value, error) {
	t := time.Time(s)
	if t.IsZero() {
		return "", nil
	}
	return t.UTC().Format(time.RFC3339Nano), nil
}

// Scan implements sql.Scanner.
func (s *stamp) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a time is %T, want text", v)
	}
	if text == "" {
		*s = stamp{}
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	*s = stamp(t)
	return err
}
