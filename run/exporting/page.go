package exporting

// Page is one page of an exporter's state, as its control socket shows it.
type Page struct {
	Role     string   `json:"role"`
	Stage    string   `json:"stage"` // exporting or waiting
	Net      string   `json:"net,omitempty"`
	Exported int      `json:"exported"` // by this process
	Newest   string   `json:"newest,omitempty"`
	From     []string `json:"from"`
}
