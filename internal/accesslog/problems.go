package accesslog

import "github.com/rlcheck/rlcheck/internal/timeline"

// problems collects what is wrong with one log.
type problems struct {
	// file is the name of the file that is being read, and before is how many lines are before it.
	file   string
	before int
	list   timeline.Errors
	count  int
	// final: nothing more can be read.
	final bool
}

// mostProblems is how many kinds of problems of a log are reported. The others are counted.
const mostProblems = 10

// add adds a problem. Those of one kind are counted with the first.
func (p *problems) add(e timeline.ParseError) {
	p.count++
	for i := range p.list {
		if p.list[i].Why == e.Why {
			p.list[i].More++
			return
		}
	}
	if len(p.list) == mostProblems {
		p.list[mostProblems-1].More++
		return
	}
	e.File, e.Line = p.file, max(e.Line-p.before, 1)
	p.list = append(p.list, e)
}

func (p *problems) err() error {
	if p.count > 0 {
		return p.list
	}
	return nil
}
