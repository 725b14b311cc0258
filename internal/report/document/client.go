package document

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/report/chart"
	"github.com/rlcheck/rlcheck/internal/result"
)

// jsonClient is a client of a scenario.
type jsonClient struct {
	Partition     string   `json:"partition"`
	Sent          int      `json:"sent"`
	Allowed       int      `json:"allowed"`
	Denied        int      `json:"denied"`
	Unknown       int      `json:"unknown"`
	FirstDenialNS *int64   `json:"first_denial_ns"`
	LastDenialNS  *int64   `json:"last_denial_ns"`
	DenialShare   float64  `json:"denial_share"`
	Nearness      *float64 `json:"nearness"`
}

func toClients(s *result.Scenario) []jsonClient {
	out, denials := []jsonClient{}, 0
	all := chart.Clients(s)
	for i := range all {
		denials += all[i].Denied
	}
	for i := range all {
		c := &all[i]
		x := jsonClient{Partition: c.Partition, Sent: c.Sent, Allowed: c.Allowed, Denied: c.Denied,
			Unknown: c.Unknown, Nearness: c.Nearness}
		if c.Denied > 0 {
			first, last := int64(c.FirstDenial), int64(c.LastDenial)
			x.FirstDenialNS, x.LastDenialNS = &first, &last
			x.DenialShare = float64(c.Denied) / float64(denials)
		}
		out = append(out, x)
	}
	return out
}

func fromClients(in []jsonClient) (out []result.Client) {
	instant := func(ns *int64) time.Duration {
		if ns == nil {
			return 0
		}
		return time.Duration(*ns)
	}
	for _, c := range in {
		out = append(out, result.Client{Partition: c.Partition, Sent: c.Sent, Allowed: c.Allowed,
			Denied:  c.Denied,
			Unknown: c.Unknown, FirstDenial: instant(c.FirstDenialNS), LastDenial: instant(c.LastDenialNS),
			Nearness: c.Nearness})
	}
	return out
}
