// Package fleet carries games and nets between the players of many machines and the one
// run that they play for, over NATS or through a directory that they share (docs/FLEET.md).
// It knows no run directory: package run/join fills its Inbox and its Posts.
//
//	Post  (a player)             Inbox (the run)
//	  Join, Beat      -request->   Handler
//	  Deliver(Chunk)  -mailbox->   Next, then Commit or Reject
//	  Verdicts()      <-message-
//	  Fetch(NetRef)   <-store---   Publish
//
// The mailbox is a JetStream stream and never the truth: the truth is what the run has on
// its disk. A player keeps a chunk until the verdict on it has come, and delivers it again
// where none comes. The run takes each game once, whatever is delivered twice. So neither
// a crash nor a lost mailbox loses or doubles a game.
//
// In a directory (OpenDirectory) each message is a file that its sender has sealed.
//
// A server of its own (Serve) or servers of others (Cluster) listen with TLS; a link names its address, the hash of its
// key and the player's own key, with which nothing but playing is allowed.
package fleet
