package main

import (
	"testing"

	"github.com/chessbrain/chessbrain/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, definition) }

func TestConformance(t *testing.T) {
	plugintest.Run(t, definition, map[string]string{"alpha": "0.7", "beta": "0.5", "beta_rows": "5000"})
}
