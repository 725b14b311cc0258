package identify

import (
	"encoding/json"
	"reflect"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Schema names the format of the identity document.
const Schema = "rlcheck.identity/v1"

// jsonIdentity is the identity document, an API (rlcheck schema identity).
type jsonIdentity struct {
	Schema       string           `json:"schema"`
	Verdict      Verdict          `json:"verdict"`
	Spec         string           `json:"spec,omitempty"`
	Sentence     string           `json:"sentence,omitempty"`
	Class        []spec.Algorithm `json:"class,omitempty"`
	Alternatives []string         `json:"alternatives"`
	Measured     *jsonWorth       `json:"measured,omitempty"`
	Assuming     *jsonSteady      `json:"assuming,omitempty"`
	Sharper      *jsonSharper     `json:"sharper,omitempty"`
	Unseen       *jsonBound       `json:"unseen_above,omitempty"`
	Wide         []string         `json:"hardly_measured,omitempty"`
	Told         []string         `json:"told,omitempty"`
	Also         []string         `json:"told_beside,omitempty"`
	Stopped      string           `json:"stopped,omitempty"`
	Next         string           `json:"next,omitempty"`
	Against      []jsonRefuted    `json:"refuted,omitempty"`
	Clients      *JSONApart       `json:"clients,omitempty"`
	Partition    string           `json:"partition"`
	Requests     int              `json:"requests"`
	Before       int              `json:"requests_before,omitempty"`
	Seconds      float64          `json:"seconds"`
	Recording    string           `json:"recording"`
}

type jsonWorth struct {
	Burst [2]float64 `json:"burst"`
	Rate  [2]float64 `json:"rate_per_s"`
}

type jsonSteady struct {
	Floor   float64 `json:"path_s"`
	Fastest float64 `json:"fastest_s"`
	Answers int     `json:"answers"`
}

type jsonSharper struct {
	RoundTrip float64 `json:"round_trip_s"`
	Requests  int     `json:"requests"`
	Seconds   float64 `json:"seconds"`
}

type jsonBound struct {
	Requests int64   `json:"requests"`
	Seconds  float64 `json:"seconds"`
}

type jsonRefuted struct {
	Spec    string `json:"spec"`
	Witness string `json:"witness"`
}

// Form is the type that JSON marshals.
func Form() reflect.Type { return reflect.TypeFor[jsonIdentity]() }

// JSON is the answer for programs.
func (r *Result) JSON(a About) ([]byte, error) {
	j := jsonIdentity{Schema: Schema, Verdict: r.Verdict, Alternatives: []string{},
		Told: Told(r.Timeline), Also: r.Also, Wide: r.Wide,
		Stopped: r.Stopped, Next: r.Next, Partition: a.Partition,
		Requests: r.Sent(), Before: r.Before, Seconds: r.Timeline.End().Seconds(), Recording: a.Recording,
		Clients: r.Clients.JSON()}
	for _, c := range r.Found {
		if r.Verdict == Identified {
			j.Spec, j.Class, j.Measured = c.Limit.String(), c.Class, measured(c.Measured)
			continue
		}
		j.Alternatives = append(j.Alternatives, c.Limit.String())
	}
	if len(r.Found) > 0 {
		j.Sentence = r.Found[0].Sentence()
	}
	if b := r.unseen(); r.Verdict == Identified {
		j.Unseen = &jsonBound{b.requests, b.within.Seconds()}
	}
	if s := r.Sharper; s != nil {
		j.Sharper = &jsonSharper{s.Trip.Seconds(), s.Requests, s.Time.Seconds()}
	}
	for _, c := range r.Gone {
		j.Against = append(j.Against, jsonRefuted{c.Limit.String(), c.Against})
	}
	out, err := json.MarshalIndent(j, "", "  ")
	return append(out, '\n'), err
}

func measured(m result.Measured) *jsonWorth {
	return &jsonWorth{Burst: [2]float64{m.Burst.Lo, m.Burst.Hi}, Rate: [2]float64{m.Rate.Lo, m.Rate.Hi}}
}
