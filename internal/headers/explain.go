package headers

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Meaning is what a Retry-After value means to a client that receives it now.
type Meaning struct {
	RetryAfter RetryAfter
	// Wait is how long the client ought to wait, at least 0. At is when it may come back, in UTC. The largest
	// time.Duration stands for all longer waits.
	Wait time.Duration
	At   time.Time
	// Notes are sentences about what is readable but looks wrong; may be empty.
	Notes []string
}

// String writes the wait and the time in one line, and each note in its own line.
func (m Meaning) String() string {
	var b strings.Builder
	b.WriteString("wait " + spell(m.Wait))
	if m.Wait < math.MaxInt64 {
		b.WriteString(", until " + m.At.Format(imfFixdate))
	}
	for _, n := range m.Notes {
		b.WriteString("\nnote: ")
		b.WriteString(n)
	}
	return b.String()
}

// Explain says what a Retry-After value means at now, which stands for the Date of the answer. Errors are
// those of ParseRetryAfter.
func Explain(value string, now time.Time) (Meaning, error) {
	ra, err := ParseRetryAfter(value)
	if err != nil {
		return Meaning{}, err
	}
	m := Meaning{RetryAfter: ra, Wait: ra.Wait(now)}
	m.At = now.Add(m.Wait).UTC()
	if ra.IsDate {
		m.At = ra.Date
	}
	if p, ok := errors.AsType[*Problem](ra.Check()); ok {
		m.Notes = append(m.Notes, p.Why+" ("+p.Mend+")")
	}
	if ra.Past(now) {
		m.Notes = append(m.Notes, "the date is past by "+spell(now.Sub(ra.Date))+
			": a client may come back at once")
	}
	if note := suspicious(ra); note != "" {
		m.Notes = append(m.Notes, note)
	}
	return m, nil
}

// suspicious says what a number of seconds may have been meant for; "" if it is plausible.
func suspicious(ra RetryAfter) string {
	n := ra.Seconds
	switch {
	case ra.IsDate:
		return ""
	case n == 0:
		return "0 s says that the client may come back at once"
	case n >= epochFrom:
		x, why := numericReset(strconv.FormatInt(n, 10))
		if why != "" {
			return ""
		}
		return fmt.Sprintf("as %s this would be %s, but Retry-After counts seconds from now", x.form,
			x.at.Format(imfFixdate))
	case n > int64(24*time.Hour/time.Second) || n >= 10_000 && n%1000 == 0:
		return fmt.Sprintf("if milliseconds were meant, the wait is %s: write \"%d\"",
			spell(time.Duration(n)*time.Millisecond), (n+999)/1000)
	default:
		return ""
	}
}

// spell writes a duration of at least 0 with its two largest units: 2 d 3 h, 1 min 0 s, 0.5 s. The largest
// time.Duration is "more than 292 years".
func spell(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case d == math.MaxInt64:
		return "more than 292 years"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
	}
}
