package spec

import (
	"fmt"
	"sort"
	"sync"
	"time"
	_ "time/tzdata" // the zones, on machines that have none
)

// Month is the Per of a rate N/month: a calendar month. It is longer than any month is, and no duration that
// anybody writes.
const Month = 31*day + 2*time.Hour + 1

// longestDay is longer than any calendar day has been since 1970. Antarctica/Troll has one of 26 hours.
const longestDay = 26 * time.Hour

// Calendar are the days or the months of a time zone. Each begins with the first instant of its date, so a
// day has 23 to 26 hours. The zero value is no calendar.
type Calendar struct {
	zone   *time.Location
	months bool
}

// zones are the zones that were read, so that one name gives one pointer.
var zones sync.Map

// zoneOf returns a zone of the IANA database; UTC for "".
func zoneOf(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	known, _ := zones.LoadOrStore(name, zone)
	return known.(*time.Location), nil
}

// Calendar returns the calendar of p; the zero value if p has none.
func (p Policy) Calendar() Calendar {
	if p.Align != AlignCalendar {
		return Calendar{}
	}
	zone, err := zoneOf(p.Zone)
	if err != nil { // no SPEC has such a zone
		return Calendar{}
	}
	return Calendar{zone, p.Rate.Per == Month}
}

// IsZero tells whether c is no calendar.
func (c Calendar) IsZero() bool { return c.zone == nil }

// Longest returns a length that no window of c exceeds.
func (c Calendar) Longest() time.Duration {
	if c.months {
		return Month
	}
	return longestDay
}

// Padded turns an instant since the Unix epoch into the time of a clock on which every window of c takes
// Longest: window k is [k*Longest, (k+1)*Longest). The clock shows the true time since the window began, and
// jumps ahead where the window ends. So it never runs backwards, and no instant changes its window.
//
//	true     |---- 24 h ----|---- 25 h -----|---- 24 h ----|
//	padded   |---- 24 h ----  |---- 25 h ----- |---- 24 h ----  |
func (c Calendar) Padded(at time.Duration) time.Duration {
	k := c.window(at)
	return time.Duration(k)*c.Longest() + min(at-c.begin(k), c.Longest()-1)
}

// Real returns the instant since the Unix epoch at which the clock of Padded shows a time, or the end of its
// window if the clock jumps over that time.
func (c Calendar) Real(padded time.Duration) time.Duration {
	k := int64(padded / c.Longest())
	if padded%c.Longest() < 0 {
		k--
	}
	return min(c.begin(k)+padded-time.Duration(k)*c.Longest(), c.begin(k+1))
}

// window returns the number of the window of an instant: that of 1 January 1970 is 0.
func (c Calendar) window(at time.Duration) int64 {
	y, m, d := time.Unix(0, int64(at)).In(c.zone).Date()
	if c.months {
		return int64(y-1970)*12 + int64(m) - 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second)
}

// begin returns the first instant of window k. A clock change may have skipped its midnight, or shown it
// twice.
func (c Calendar) begin(k int64) time.Duration {
	midnight := time.Date(1970, 1, 1+int(k), 0, 0, 0, 0, c.zone)
	if c.months {
		midnight = time.Date(1970, 1+time.Month(k), 1, 0, 0, 0, 0, c.zone)
	}
	at := time.Duration(midnight.UnixNano())
	if c.window(at) == k && c.window(at-1) < k {
		return at
	}
	from := at - longestDay
	return from + time.Duration(sort.Search(int(2*longestDay), func(i int) bool {
		return c.window(from+time.Duration(i)) >= k
	}))
}

func readZone(p *Policy, value string) *Problem {
	if _, err := zoneOf(value); err != nil || value == "Local" || value == "" {
		return &Problem{fmt.Sprintf("zone %q", value), "it is no time zone of the IANA database",
			`write a name such as "Europe/Berlin" or "UTC"`}
	}
	p.Zone, p.Align = value, AlignCalendar
	return nil
}

// checkCalendar reports what does not go with calendar days or months.
func (b *builder) checkCalendar(in family) {
	p := &b.policy
	month := p.Rate.Per == Month
	if _, zoned := b.given["zone"]; !zoned && !month || b.bad["rate"] || b.bad["zone"] {
		return
	}
	why := "calendar days and months are fixed windows"
	switch {
	case in&inFixedWindow == 0:
		b.fail("rate", true, Problem{fmt.Sprintf("rate %q", p.RateText()), why,
			`write "fixed-window", or a window such as "30d"`})
		return
	case !month && p.Rate.Per != day || p.PerTo > 0:
		b.fail("rate", true, Problem{fmt.Sprintf("rate %q", p.RateText()), "a zone is for calendar days " +
			"and months", fmt.Sprintf(`write "%d/1d" or "%[1]d/month"`, p.Rate.N)})
		return
	}
	p.Align = AlignCalendar
	for _, name := range []string{"align", "phase", "slots", "refresh", "ban", "growth", "max", "ttl",
		"charge"} {
		b.refuse(name, true, why+" without it", "remove it")
	}
}
