package fleet

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
)

// scheme begins a link.
const scheme = "chessbrain"

// Link is what a player needs to join: chessbrain://HOST:PORT/TOKEN.
type Link struct {
	Address string // HOST:PORT
	Seed    string // of the player's key, an nkey's
	Pin     string // SHA-256 of the server's public key, raw
}

// String returns the link. Whoever has it can play for the run.
func (l Link) String() string {
	_, raw, err := nkeys.DecodeSeed([]byte(l.Seed))
	if err != nil {
		return fmt.Sprintf("%s://%s/?", scheme, l.Address)
	}
	return fmt.Sprintf("%s://%s/%s", scheme, l.Address, base64.RawURLEncoding.EncodeToString(append(raw, l.Pin...)))
}

// ParseLink reads a link.
func ParseLink(text string) (Link, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != scheme || u.Host == "" {
		return Link{}, fmt.Errorf("%q is no link of a fleet: want %s://HOST:PORT/TOKEN, as chessbrain fleet invite prints it", text, scheme)
	}
	if u.Port() == "" {
		return Link{}, fmt.Errorf("link to %s has no port: want %s://HOST:PORT/TOKEN, as chessbrain fleet invite prints it", u.Host, scheme)
	}
	token := strings.TrimPrefix(u.Path, "/")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 32+sha256.Size {
		return Link{}, fmt.Errorf("token of the link to %s: %d characters, want %d: copy the whole link that chessbrain fleet invite printed", u.Host, len(token), base64.RawURLEncoding.EncodedLen(32+sha256.Size))
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, raw[:32])
	if err != nil {
		return Link{}, fmt.Errorf("token of the link to %s: %w", u.Host, err)
	}
	return Link{Address: u.Host, Seed: string(seed), Pin: string(raw[32:])}, nil
}

// pinOf is the hash of a certificate's public key.
func pinOf(c *x509.Certificate) string {
	s := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return string(s[:])
}

// tls returns a configuration that takes the server with the link's key alone.
func (l Link) tls() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the key itself is compared, which says more than a name
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 {
				return errors.New("the server shows no certificate")
			}
			cert := c.PeerCertificates[0]
			switch now := time.Now(); {
			case pinOf(cert) != l.Pin:
				return fmt.Errorf("the server at %s is not the one that the link is for: its key differs. Ask for a new link (chessbrain fleet invite)", l.Address)
			case now.After(cert.NotAfter):
				return fmt.Errorf("the certificate of %s expired on %s: remove fleet/tls.pem of the run there, start it again and ask for a new link", l.Address, cert.NotAfter.Format(time.DateOnly))
			case now.Before(cert.NotBefore):
				return fmt.Errorf("the certificate of %s begins on %s: the clock of this machine or of that one is wrong", l.Address, cert.NotBefore.Format(time.DateOnly))
			}
			return nil
		},
	}
}
