package ratings

// Page is one page of a rater's state.
type Page struct {
	State    string `json:"state"`             // playing or waiting
	Player1  string `json:"player1,omitempty"` // of the match under way
	Player2  string `json:"player2,omitempty"`
	Finished int    `json:"finished,omitempty"` // games of that match
	Of       int    `json:"of,omitempty"`
	Matches  int    `json:"matches"` // played to their end by this process
	Games    int    `json:"games"`
}
