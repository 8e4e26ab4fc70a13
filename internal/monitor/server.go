package monitor

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ErrNotLoopback means that an address could be reached by other machines and
// that this was not asked for with a token.
var ErrNotLoopback = errors.New("not a loopback address")

// ServerOptions configures Serve.
type ServerOptions struct {
	Addr   string // HOST:PORT; port 0 = any free one
	Public bool   // allow an address that is not loopback; needs Token
	Token  string // bearer token that readers must send; "" = none
}

// Server answers GET /metrics for Prometheus.
type Server struct {
	Addr net.Addr // where it listens
	http *http.Server
	done chan error
}

// Serve listens and returns at once; the caller must Close. An address that is
// not loopback is refused with ErrNotLoopback unless Public is set and a token
// is asked for.
func Serve(opt ServerOptions, p *Prom) (*Server, error) {
	if err := checkAddr(opt); err != nil {
		return nil, fmt.Errorf("metrics address %s: %w", opt.Addr, err)
	}
	l, err := net.Listen("tcp", opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("metrics address %s: %w", opt.Addr, err)
	}
	mux := http.NewServeMux()
	pages := promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8})
	mux.Handle("GET /metrics", withToken(opt.Token, pages))
	s := &Server{Addr: l.Addr(), done: make(chan error, 1), http: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14,
	}}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// Close lets answers under way finish until ctx is done, and waits for the
// server's goroutine.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// checkAddr resolves the host: every address of it must be loopback.
func checkAddr(opt ServerOptions) error {
	host, _, err := net.SplitHostPort(opt.Addr)
	if err != nil {
		return err
	}
	if opt.Public && opt.Token != "" {
		return nil
	}
	ips := []net.IP{net.IPv4zero} // all interfaces
	if host != "" {
		if ips, err = net.LookupIP(host); err != nil {
			return err
		}
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return fmt.Errorf("%w: other machines could read it; use 127.0.0.1, or allow it with --metrics-public and a token", ErrNotLoopback)
		}
	}
	return nil
}

// withToken asks for a bearer token in front of next. Hashes are compared, in
// constant time, so that neither content nor length leaks.
func withToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		have := sha256.Sum256([]byte(sent))
		if !ok || subtle.ConstantTimeCompare(have[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
