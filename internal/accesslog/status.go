package accesslog

import (
	"strconv"
	"strings"
)

// Statuses is a set of HTTP statuses.
type Statuses struct{ has [1000]bool }

// ParseStatuses reads statuses and classes of them: 200, 304, 4xx.
func ParseStatuses(list []string) (*Statuses, error) {
	s := &Statuses{}
	for _, text := range list {
		class, isClass := strings.CutSuffix(strings.ToLower(text), "xx")
		n, err := strconv.Atoi(class)
		switch {
		case err == nil && isClass && n >= 1 && n <= 9:
			for i := range 100 {
				s.has[n*100+i] = true
			}
		case err == nil && !isClass && n >= 100 && n <= 999:
			s.has[n] = true
		default:
			return nil, &OptionError{"Statuses", "status " + quote(text),
				"a status has three digits, and a class of statuses is written 2xx", ""}
		}
	}
	return s, nil
}

// Has tells whether the set has a status. false for a number that is no status.
func (s *Statuses) Has(status int) bool { return status > 0 && status < len(s.has) && s.has[status] }
