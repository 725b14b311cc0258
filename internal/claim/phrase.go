package claim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// listed is how many observations a sentence names one by one.
const listed = 5

// Seqs prints observations as #3, #7, #9 and 4 more.
func Seqs(obs []*timeline.Observation) string {
	var b strings.Builder
	for i, o := range obs {
		if i == listed {
			fmt.Fprintf(&b, " and %d more", len(obs)-listed)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "#%d", o.Seq)
	}
	return b.String()
}

// Seconds prints d as 0.412 s, with as many digits after the point as the unit needs: 3 for a millisecond or
// more.
func Seconds(d, unit time.Duration) string {
	digits := 3
	for u := time.Millisecond; u > unit && digits < 9; u /= 1000 {
		digits += 3
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	fraction := fmt.Sprintf("%09d", d%time.Second)[:digits]
	return sign + strconv.FormatInt(int64(d/time.Second), 10) + "." + fraction + " s"
}

// Millis prints d as 31.204 ms, cut to the microsecond.
func Millis(d time.Duration) string {
	us := d / time.Microsecond
	return fmt.Sprintf("%d.%03d ms", us/1000, us%1000)
}

// OneOf prints 429, 503 or 403.
func OneOf(statuses []int) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = strconv.Itoa(s)
	}
	return text.OneOf(words)
}
