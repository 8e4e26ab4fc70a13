package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"text/template"

	"github.com/nats-io/nats.go"
)

// Cluster is NATS servers that stand for themselves and carry a run's fleet.
type Cluster struct {
	Addresses string // HOST:PORT, with commas between
	Seed      string // of the run's own key, which may do everything there
	Pin       string // SHA-256 of the servers' public key, as in links
	Mailbox   int64  // most bytes of games that wait; 0 = DefaultMailbox
	Log       *slog.Logger
}

// Inbox returns the side of the run. pinned says that the servers have the key of Pin;
// those of others are known to the machine's authorities.
func (c Cluster) Inbox(h Handler) (inbox Inbox, pinned bool, err error) {
	for _, pin := range []string{c.Pin, ""} {
		link := Link{Address: c.Addresses, Seed: c.Seed, Pin: pin}
		var nc *nats.Conn
		nc, err = link.dial("run", false, c.Log)
		if err == nil {
			inbox, err = newInbox(nc, h, c.Mailbox, c.Log)
			return inbox, pin != "", err
		}
		if errors.Is(err, ErrNoMember) {
			return nil, false, fmt.Errorf("the servers at %s do not know the run's key: give them the files that chessbrain fleet cluster writes, and start them again", c.Addresses)
		}
		if !errors.Is(err, errOtherKey) {
			if pin == "" {
				err = fmt.Errorf("these servers have not the run's key (chessbrain fleet cluster), so this machine's authorities must know them: %w", err)
			}
			break
		}
	}
	return nil, false, err
}

// routeOffset lies between the port that players use and the one by which the servers of
// a cluster reach each other: 4222 and 6222, as is usual.
const routeOffset = 2000

var configTemplate = template.Must(template.New("").Funcs(template.FuncMap{"list": func(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }}).Parse(`# {{.Name}} of a NATS cluster for a fleet of chessbrain, written by chessbrain fleet cluster.
# It is secret. Start: nats-server -c {{.Name}}.conf, beside tls.pem.
# After an invitation or the end of one: write it again, nats-server --signal reload.
server_name: {{.Name}}
listen: "{{.Listen}}"
max_payload: 1MB
tls { cert_file: "{{.Key}}", key_file: "{{.Key}}", min_version: "1.3", timeout: 10 }
jetstream { store_dir: "{{.Store}}" }
{{- if .Routes}}
cluster {
  name: chessbrain
  listen: "{{.Route}}"
  tls { cert_file: "{{.Key}}", key_file: "{{.Key}}", ca_file: "{{.Key}}", verify: true, timeout: 10 }
  routes: [{{list .Routes}}]
}
{{- end}}
authorization {
  users: [
    { nkey: {{.Own}} }
{{- range .Members}}
    { nkey: {{.Key}}, permissions: {
        publish: { allow: [{{list .Publish}}] }
        subscribe: { allow: [{{list .Subscribe}}] } } } # {{.Name}}
{{- end}}
  ]
}
`))

type configMember struct {
	Name, Key          string
	Publish, Subscribe []string
}

// Config is the configuration of server i, from 0, as nats-server reads it. key is the name
// of the file with its private key and certificate.
func (c Cluster) Config(i int, key string, m Members) (string, error) {
	_, own, err := Link{Seed: c.Seed}.keys()
	if err != nil {
		return "", err
	}
	var members []configMember
	for _, member := range m.List {
		if member.Revoked.IsZero() {
			members = append(members, configMember{member.Name, member.Key, mayPublish(member.Key), maySubscribe(member.Key)})
		}
	}
	var listen, route string
	var routes []string
	for n, address := range strings.Split(c.Addresses, ",") {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return "", err
		}
		number, err := strconv.Atoi(port)
		if err != nil || number+routeOffset > 65535 {
			return "", fmt.Errorf("address %s: the servers of a cluster use its port and the one %d above: want one of at most %d", address, routeOffset, 65535-routeOffset)
		}
		other := strconv.Itoa(number + routeOffset)
		if n != i {
			routes = append(routes, "tls://"+net.JoinHostPort(host, other))
			continue
		}
		listen, route = ":"+port, ":"+other
	}
	var text strings.Builder
	name := fmt.Sprintf("node%d", i+1)
	err = configTemplate.Execute(&text, map[string]any{"Name": name, "Listen": listen, "Route": route, "Routes": routes,
		"Key": key, "Store": name, "Own": own, "Members": members})
	return text.String(), err
}
