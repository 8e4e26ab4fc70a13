//go:build !unix

package main

// become is not possible here.
func become(string, []string, []string) error { return errNoExec }
