package fleet

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// ServerOptions start a run's own server.
type ServerOptions struct {
	Address string // to listen on, such as :4222
	Dir     string // of what the server stores
	Key     []byte // private key and certificate as PEM, see NewKey
	Mailbox int64  // most bytes of games that wait; 0 = DefaultMailbox
	Members Members
	Log     *slog.Logger
}

// DefaultMailbox is how many bytes of games wait for the run.
const DefaultMailbox = 1 << 30

// Server is a NATS server with JetStream inside this process.
type Server struct {
	s   *server.Server
	opt ServerOptions
	tls *tls.Config
	own nkeys.KeyPair // of this process
}

// startTime is how long a server may take to be ready.
const startTime = 20 * time.Second

// Serve starts a server. It listens when Serve returns.
func Serve(opt ServerOptions) (*Server, error) {
	cert, err := tls.X509KeyPair(opt.Key, opt.Key)
	if err != nil {
		return nil, fmt.Errorf("key of the fleet's server: %w", err)
	}
	s := &Server{opt: opt, tls: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}}
	if s.own, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	options, err := s.options(opt.Members)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", opt.Address) // the server itself tells such an error to its log alone
	if err != nil {
		return nil, fmt.Errorf("listen for players: %w; give another address", err)
	}
	if options.Port == 0 || options.Port == server.RANDOM_PORT {
		options.Port = listener.Addr().(*net.TCPAddr).Port
	}
	if err := listener.Close(); err != nil {
		return nil, err
	}
	s.opt.Address = net.JoinHostPort(options.Host, strconv.Itoa(options.Port))
	if s.s, err = server.NewServer(options); err != nil {
		return nil, fmt.Errorf("fleet's server: %w", err)
	}
	s.s.SetLoggerV2(natsLog{opt.Log}, false, false, false)
	s.s.Start()
	if !s.s.ReadyForConnections(startTime) {
		s.Close()
		return nil, fmt.Errorf("the fleet's server at %s was not ready within %v; its messages stand in the log", s.opt.Address, startTime)
	}
	return s, nil
}

// options are those of the server with the given members.
func (s *Server) options(m Members) (*server.Options, error) {
	host, port, err := net.SplitHostPort(s.opt.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q to listen on: %w; want [HOST]:PORT", s.opt.Address, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("address %q to listen on: port %q is no number", s.opt.Address, port)
	}
	own, err := s.own.PublicKey()
	if err != nil {
		return nil, err
	}
	users := []*server.NkeyUser{{Nkey: own}}
	for _, key := range m.keys() {
		users = append(users, &server.NkeyUser{Nkey: key, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: mayPublish(key)}, Subscribe: &server.SubjectPermission{Allow: maySubscribe(key)}}})
	}
	return &server.Options{
		ServerName: "chessbrain", Host: host, Port: number, NoSigs: true, NoSystemAccount: true,
		JetStream: true, StoreDir: s.opt.Dir, JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 1 << 20,
		TLSConfig: s.tls, TLSTimeout: 10, AuthTimeout: 10, MaxPayload: 1 << 20, Nkeys: users,
	}, nil
}

// SetMembers replaces who may join. Connections of those that may not any more end.
func (s *Server) SetMembers(m Members) error {
	options, err := s.options(m)
	if err != nil {
		return err
	}
	if err := s.s.ReloadOptions(options); err != nil {
		return fmt.Errorf("members of the fleet: %w", err)
	}
	return nil
}

// Port is where the server listens.
func (s *Server) Port() int { return s.s.Addr().(*net.TCPAddr).Port }

// Inbox returns the side of the run, within this process.
func (s *Server) Inbox(h Handler) (Inbox, error) {
	own, err := s.own.PublicKey()
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect("nats://in-process", nats.InProcessServer(s.s), nats.Nkey(own, s.own.Sign), nats.MaxReconnects(-1), nats.Name("run"))
	if err != nil {
		return nil, fmt.Errorf("fleet's inbox: %w", err)
	}
	return newInbox(nc, h, s.opt.Mailbox, s.opt.Log)
}

// Close ends the server.
func (s *Server) Close() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// natsLog takes the server's messages into the log: what is wrong, nothing else.
type natsLog struct{ log *slog.Logger }

func (l natsLog) Noticef(string, ...any) {}
func (l natsLog) Debugf(string, ...any)  {}
func (l natsLog) Tracef(string, ...any)  {}
func (l natsLog) Warnf(format string, v ...any) {
	l.log.Warn("fleet's server: " + fmt.Sprintf(format, v...))
}
func (l natsLog) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if _, why, ok := strings.Cut(text, "TLS handshake error: "); ok && (why == "EOF" || strings.HasSuffix(why, "reset by peer")) {
		return // a player that looks whether somebody is there
	}
	l.log.Warn("fleet's server: " + text)
}
func (l natsLog) Fatalf(format string, v ...any) {
	l.log.Error("fleet's server: " + fmt.Sprintf(format, v...))
}

// keyYears is how long a certificate holds.
const keyYears = 10

// NewKey makes a private key with its certificate, as PEM.
func NewKey(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return certify(key, nil, now)
}

// Certify returns the private key of a key file's content with a new certificate, which
// the servers of a cluster take from each other. hosts are their names and IP addresses.
func Certify(key []byte, hosts []string, now time.Time) ([]byte, error) {
	private, _, err := privateKey(key)
	if err != nil {
		return nil, err
	}
	return certify(private, hosts, now)
}

// privateKey reads a key file's content: the private key, and the public one as pins are
// hashes of it.
func privateKey(key []byte) (private *ecdsa.PrivateKey, public []byte, err error) {
	pair, err := tls.X509KeyPair(key, key)
	if err != nil {
		return nil, nil, fmt.Errorf("key of the fleet's server: %w", err)
	}
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, errors.New("key of the fleet's server: not one that chessbrain made; remove the file, and a new one is made")
	}
	return private, pair.Leaf.RawSubjectPublicKeyInfo, nil
}

// certify returns a key with a certificate for itself, as PEM.
func certify(key *ecdsa.PrivateKey, hosts []string, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "chessbrain"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(keyYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, b := range []*pem.Block{{Type: "PRIVATE KEY", Bytes: private}, {Type: "CERTIFICATE", Bytes: cert}} {
		if err := pem.Encode(&out, b); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// ErrKey says that a file holds no key with its certificate.
var ErrKey = errors.New("no key with its certificate")

// ReadKey reads the file of a key, or makes one for its owner alone.
func ReadKey(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		key, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, err := tls.X509KeyPair(key, key); err != nil {
			return nil, fmt.Errorf("%w: %w; remove the file, and a new one is made: links are new ones then", ErrKey, err)
		}
		return key, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := NewKey(time.Now())
	if err == nil {
		_, err = io.Copy(f, bytes.NewReader(key))
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		os.Remove(path)
	}
	return key, err
}

// Pin is the hash of the public key of a key file's content, for links.
func Pin(key []byte) (string, error) {
	pair, err := tls.X509KeyPair(key, key)
	if err != nil {
		return "", fmt.Errorf("key of the fleet's server: %w", err)
	}
	return pinOf(pair.Leaf), nil
}
