package check

import "github.com/rlcheck/rlcheck/internal/reference"

// sided is a policy with one bound for each question: `loose` for what cannot have been admitted, the embedded one for what
// cannot have been denied.
type sided struct {
	bound
	loose bound
}

func (s sided) over(h *history) *breach { return s.loose.over(h) }

// newOwning bounds a policy that also counts what another policy denies. What was admitted was counted; what was denied may
// have been.
func newOwning(p reference.Policy, from, to int64) bound {
	loose, tight := p, p
	loose.Count, tight.Count = reference.CountAdmitted, reference.CountAll
	return sided{newBound(tight, from, to), newBound(loose, from, to)}
}

// expiring is the bound of a policy that forgets a partition after a silence of ttl: a history is bounded between the
// silences that may have been long enough. Forgetting only lowers what is in use, so denials are bounded as without.
// Where the first request places the windows or finds an empty bucket, only what comes before the first such silence is
// bounded, and denials prove nothing: whether a later one was the first again is not known.
type expiring struct {
	bound
	ttl    int64
	placed bool
}

func newExpiring(p reference.Policy, from, to int64) bound {
	ttl := int64(p.TTL)
	p.TTL = 0
	return expiring{newBound(p, from, to), ttl, p.Align == reference.AlignFirst || p.Start == reference.StartEmpty}
}

func (x expiring) over(h *history) *breach {
	begin := 0
	for i := 1; i <= len(h.all); i++ {
		if i < len(h.all) && !x.mayForget(h.all[i-1], h.all[i]) {
			continue
		}
		lively := &history{all: append([]event(nil), h.all[begin:i]...)}
		lively.split()
		if br := x.bound.over(lively); br != nil {
			return br
		}
		if begin = i; x.placed {
			return nil
		}
	}
	return nil
}

// mayForget tells whether the silence between two requests, one sent after the other, may have been as long as ttl.
func (x expiring) mayForget(a, b event) bool { return b.e-a.s >= x.ttl }

func (x expiring) usage(h *history) meter {
	if x.placed {
		return boundless{}
	}
	return x.bound.usage(h)
}

// boundless is the meter of what is not known: everything may be in use.
type boundless struct{}

func (boundless) excess(int64) int64 { return 1 << 40 }
func (boundless) unit() int64        { return 1 }
