package result

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Client is how the requests of one partition were answered.
type Client struct {
	Partition string `json:"partition"`
	Sent      int    `json:"sent"`
	Allowed   int    `json:"allowed"`
	Denied    int    `json:"denied"`
	Unknown   int    `json:"unknown"`
	// FirstDenial and LastDenial are when their answers began; nil: there is no denial.
	FirstDenial *time.Duration `json:"first_denial_ns"`
	LastDenial  *time.Duration `json:"last_denial_ns"`
	// DenialShare is its share of the denials of all clients.
	DenialShare float64 `json:"denial_share"`
	// Nearness is the largest share of the limit that was in use: 1 is all of it. nil: it is not known.
	Nearness *float64 `json:"nearness"`
}

// ClientTally counts the requests of each partition. The zero value is empty.
type ClientTally struct{ by map[string]*Client }

// Add counts one observation, in any order.
func (t *ClientTally) Add(o *timeline.Observation) {
	c := t.by[o.Partition]
	if c == nil {
		if t.by == nil {
			t.by = map[string]*Client{}
		}
		c = &Client{Partition: o.Partition}
		t.by[o.Partition] = c
	}
	c.Sent++
	switch o.Outcome {
	case timeline.Allowed:
		c.Allowed++
	case timeline.Denied:
		if c.Denied++; c.Denied == 1 {
			first, last := o.FirstByte, o.FirstByte
			c.FirstDenial, c.LastDenial = &first, &last
		}
		*c.FirstDenial, *c.LastDenial = min(*c.FirstDenial, o.FirstByte), max(*c.LastDenial, o.FirstByte)
	default:
		c.Unknown++
	}
}

// Clients returns the counts: the most denials first, then the most requests, then by name.
func (t *ClientTally) Clients() []Client {
	var out []Client
	denials := 0
	for _, c := range t.by {
		denials += c.Denied
	}
	for _, c := range t.by {
		if c.Denied > 0 {
			c.DenialShare = float64(c.Denied) / float64(denials)
		}
		out = append(out, *c)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(b.Denied-a.Denied, b.Sent-a.Sent, strings.Compare(a.Partition, b.Partition)) < 0
	})
	return out
}

// ClientsOf counts the requests of each partition of a recording.
func ClientsOf(tl *timeline.Timeline) []Client {
	var t ClientTally
	for o := range tl.All() {
		t.Add(o)
	}
	return t.Clients()
}
