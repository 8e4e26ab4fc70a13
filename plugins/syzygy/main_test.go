package main

import (
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, definition) }

func TestConformance(t *testing.T) {
	plugintest.Run(t, definition, map[string]string{"paths": golden.Path(t, "syzygy")})
}
