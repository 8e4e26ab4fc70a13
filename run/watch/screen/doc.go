// Package screen shows a run on a terminal: pages of text that keys move through. Screen
// decides what is drawn and what keys do; Show joins it with a terminal.
package screen
