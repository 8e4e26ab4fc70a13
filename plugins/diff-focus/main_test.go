package main

import (
	"testing"

	"github.com/chessbrain/chessbrain/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m, definition) }

func TestConformance(t *testing.T) {
	plugintest.Run(t, definition, map[string]string{"q_weight": "4", "gamma": "1.5", "tau": "3"})
}
