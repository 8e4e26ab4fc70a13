package fleet_test

import (
	"testing"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/testing/fleettest"
)

// TestMemory holds the fleet of the tests against what Post and Inbox promise.
func TestMemory(t *testing.T) {
	fleet.Conform(t, func(_ *testing.T, h fleet.Handler) *fleet.Opened {
		m := fleettest.NewMemory(h, 40)
		return &fleet.Opened{Inbox: m, Posts: [2]fleet.Post{m.Post(fleet.Player{Member: "A", Instance: "1"}), m.Post(fleet.Player{Member: "B", Instance: "1"})}}
	})
}
