package join

import (
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/fleettest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
)

// BenchmarkIngest takes chunks of real games into a run: decoded, replayed by the rules,
// written and synced. Bytes are those of the chunks.
func BenchmarkIngest(b *testing.B) {
	own := b.TempDir()
	e := runtest.Resolve(b, own, "--max-plies=120 --games-per-worker=32")
	if _, err := play.SelfPlay(b.Context(), play.SelfPlayOptions{Effective: e, Process: run.FirstJoined, MaxGames: 64, Command: "bench", Log: runtest.LogTo(&said{})}); err != nil {
		b.Fatal(err)
	}
	scan, err := replay.ScanDir(b.Context(), fsx.OS, filepath.Join(own, "selfplay"))
	if err != nil {
		b.Fatal(err)
	}
	games, seed := scan.Games, scan.Games[0].Seed
	net := games[0].NetID
	h := &host{log: runtest.LogTo(&said{}), dir: run.NewDir(b.TempDir(), "main", "run", "", ""), job: "run", seed: seed,
		auditor: &auditor{}, ledger: &ledger{processes: map[uint64]*account{}}, nets: map[string]bool{net: true}}
	player := fleet.Player{Member: "A", Instance: "1"}
	entry := &PlayerEntry{Member: "A", Instance: "1", Process: run.FirstJoined}
	h.players = map[fleet.Player]*PlayerEntry{player: entry}
	h.members.List = []fleet.Member{{Key: player.Member, Name: "a"}}
	m := fleettest.NewMemory(h, 1)
	post := m.Post(player)
	number, bytes := uint64(0), 0
	chunk := func() []byte {
		var fresh []*record.Game
		for _, g := range games {
			copied := g.Clone()
			copied.Ordinal, copied.ID = number, record.GameID(seed, run.FirstJoined, number)
			number++
			fresh = append(fresh, copied)
		}
		data := sealed(b, net, "run", fresh...)
		bytes += len(data)
		return data
	}
	for b.Loop() {
		b.StopTimer()
		data := chunk()
		b.StartTimer()
		if err := post.Deliver(b.Context(), data, 0); err != nil {
			b.Fatal(err)
		}
		d, err := m.Next(b.Context())
		if err == nil {
			err = h.take(b.Context(), d)
		}
		if err != nil {
			b.Fatal(err)
		}
		if v := <-post.Verdicts(); v.Games != len(games) {
			b.Fatalf("verdict %+v", v)
		}
	}
	b.ReportMetric(float64(bytes)/float64(scan.Positions*b.N), "bytes/position")
	b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
	b.ReportMetric(float64(scan.Positions*b.N)/b.Elapsed().Seconds(), "positions/s")
}
