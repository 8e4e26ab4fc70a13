package fleet

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
)

// scheme begins a link.
const scheme = "chessbrain"

const seedBytes = 32 // of a key, in a token

// Link is what a player needs to join: chessbrain://HOST:PORT[,HOST:PORT...]/TOKEN, or
// chessbrain:///DIRECTORY/TOKEN.
type Link struct {
	Address string // HOST:PORT, of a cluster several with commas between; or a directory, with slashes
	Seed    string // of the player's key, an nkey's
	Pin     string // SHA-256 of the servers' public key, raw; "" = the machine's authorities know them
}

// String returns the link. Whoever has it can play for the run.
func (l Link) String() string {
	_, raw, err := nkeys.DecodeSeed([]byte(l.Seed))
	if err != nil {
		return fmt.Sprintf("%s://%s/?", scheme, l.Address)
	}
	token := base64.RawURLEncoding.EncodeToString(append(raw, l.Pin...))
	if IsDirectory(l.Address) {
		return (&url.URL{Scheme: scheme, Path: "/" + strings.TrimPrefix(l.Address, "/") + "/" + token}).String()
	}
	return fmt.Sprintf("%s://%s/%s", scheme, l.Address, token)
}

// Server identifies whom the link leads to, in hexadecimal: by the servers' key or, where
// authorities know them, by their addresses.
func (l Link) Server() string {
	if l.Pin == "" {
		return SumOf([]byte(l.Address))
	}
	return hex.EncodeToString([]byte(l.Pin))
}

// ParseLink reads a link.
func ParseLink(text string) (Link, error) {
	const want = scheme + "://HOST:PORT/TOKEN or " + scheme + ":///DIRECTORY/TOKEN, as chessbrain fleet invite prints it"
	rest, found := strings.CutPrefix(text, scheme+"://")
	slash := strings.LastIndexByte(rest, '/')
	if !found || slash <= 0 {
		return Link{}, fmt.Errorf("%q is no link of a fleet: want %s", text, want)
	}
	hosts, token := rest[:slash], rest[slash+1:]
	if path, err := url.PathUnescape(hosts); err == nil && IsDirectory(hosts) {
		hosts = path
		if drive.MatchString(strings.TrimPrefix(hosts, "/")) {
			hosts = hosts[1:]
		}
	}
	hosts, err := CheckAddress(hosts)
	if err != nil {
		return Link{}, fmt.Errorf("link of a fleet: %w: want %s", err, want)
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != seedBytes+sha256.Size && (len(raw) != seedBytes || IsDirectory(hosts)) {
		return Link{}, fmt.Errorf("token of the link to %s: %d characters, want %d or %d: copy the whole link that chessbrain fleet invite printed", hosts, len(token),
			base64.RawURLEncoding.EncodedLen(seedBytes+sha256.Size), base64.RawURLEncoding.EncodedLen(seedBytes))
	}
	seed, err := nkeys.EncodeSeed(nkeys.PrefixByteUser, raw[:seedBytes])
	if err != nil {
		return Link{}, fmt.Errorf("token of the link to %s: %w", hosts, err)
	}
	return Link{Address: hosts, Seed: string(seed), Pin: string(raw[seedBytes:])}, nil
}

// drive begins a path of Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:/`)

// IsDirectory says whether an address is a directory: it holds a path separator.
func IsDirectory(address string) bool {
	return strings.ContainsFunc(address, func(r rune) bool { return r == '/' || r == filepath.Separator })
}

// CheckAddress returns an address as links have it: HOST:PORT,... or a directory, which
// must be an absolute path on the machines of players.
func CheckAddress(text string) (string, error) {
	if !IsDirectory(text) {
		return text, CheckAddresses(text)
	}
	clean := path.Clean(filepath.ToSlash(text))
	if strings.HasPrefix(filepath.ToSlash(text), "//") && filepath.Separator != '/' {
		clean = "/" + clean // a share of Windows
	}
	if !strings.HasPrefix(clean, "/") && !drive.MatchString(clean) {
		return "", fmt.Errorf("%q is a relative path: players need the whole one, from / on", text)
	}
	return clean, nil
}

// CheckAddresses says which part of HOST:PORT,HOST:PORT,... is no such.
func CheckAddresses(text string) error {
	seen := map[string]bool{}
	for address := range strings.SplitSeq(text, ",") {
		host, port, err := net.SplitHostPort(address)
		n, bad := strconv.Atoi(port)
		if err != nil || bad != nil || host == "" || n < 1 || n > 65535 {
			return fmt.Errorf("%q is no HOST:PORT", address)
		}
		same := strings.ToLower(host) + ":" + strconv.Itoa(n)
		if seen[same] {
			return fmt.Errorf("%q is there twice", address)
		}
		seen[same] = true
	}
	return nil
}

// urls are the servers at addresses with commas between, as package nats takes them.
func urls(addresses string) string { return "tls://" + strings.ReplaceAll(addresses, ",", ",tls://") }

// pinOf is the hash of a certificate's public key.
func pinOf(c *x509.Certificate) string {
	s := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return string(s[:])
}

// errOtherKey says that a server has not the key of a link.
var errOtherKey = errors.New("is not the one that the link is for: its key differs. Ask for a new link (chessbrain fleet invite)")

// tls returns a configuration that takes servers with the link's key alone, or those that
// the machine's authorities know.
func (l Link) tls() *tls.Config {
	if l.Pin == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
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
				return fmt.Errorf("the server at %s %w", l.Address, errOtherKey)
			case now.After(cert.NotAfter):
				return fmt.Errorf("the certificate of %s expired on %s: remove fleet/tls.pem of the run there, start it again and ask for a new link", l.Address, cert.NotAfter.Format(time.DateOnly))
			case now.Before(cert.NotBefore):
				return fmt.Errorf("the certificate of %s begins on %s: the clock of this machine or of that one is wrong", l.Address, cert.NotBefore.Format(time.DateOnly))
			}
			return nil
		},
	}
}
