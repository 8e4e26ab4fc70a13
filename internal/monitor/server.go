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

// Server answers HTTP: Prometheus, or the people who watch a run.
type Server struct {
	Addr net.Addr // where it listens
	http *http.Server
	done chan error
}

// Handler answers GET /metrics.
func (p *Prom) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	return mux
}

// Serve listens, lets h answer, and returns at once; the caller must Close. An address
// that is not loopback is refused with ErrNotLoopback unless Public is set and a token
// is asked for. Where only this machine is served, a request under a foreign name is
// refused: a page from elsewhere could have made its name mean this machine.
func Serve(opt ServerOptions, h http.Handler) (*Server, error) {
	if err := checkAddr(opt); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("%w; take another port (0 = any that is free), on an address of this machine", err)
	}
	h = withToken(opt.Token, h)
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		h = localOnly(h)
	}
	s := &Server{Addr: l.Addr(), done: make(chan error, 1), http: &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
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
		return fmt.Errorf("%w; write HOST:PORT", err)
	}
	if opt.Public && opt.Token != "" {
		return nil
	}
	ips := []net.IP{net.IPv4zero} // all interfaces
	if host != "" {
		if ips, err = net.LookupIP(host); err != nil {
			return fmt.Errorf("address %s: %w; use 127.0.0.1:PORT", opt.Addr, err)
		}
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return fmt.Errorf("address %s: %w: other machines could read it; use 127.0.0.1, or allow it with --metrics-public and a token", opt.Addr, ErrNotLoopback)
		}
	}
	return nil
}

// localOnly refuses requests whose host is not this machine by its own names.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "only localhost and 127.0.0.1 are served here", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withToken asks for a token in front of next: as a bearer's, or, for browsers, as ?token=
// in the address, from where it goes to a cookie. Hashes are compared, in constant time, so
// that neither content nor length leaks.
func withToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	name := fmt.Sprintf("chessbrain-token-%x", want[:4]) // pages on other ports of the machine have cookies of their own
	right := func(sent string) bool {
		have := sha256.Sum256([]byte(sent))
		return subtle.ConstantTimeCompare(have[:], want[:]) == 1
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if cookie, err := r.Cookie(name); err == nil && sent == "" {
			sent = cookie.Value
		}
		switch named := r.URL.Query().Get("token"); {
		case right(sent):
			next.ServeHTTP(w, r)
		case right(named):
			http.SetCookie(w, &http.Cookie{Name: name, Value: named, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is needed: add ?token=... to the address, or send it as a bearer token", http.StatusUnauthorized)
		}
	})
}
