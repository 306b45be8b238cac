package plan

// Count adds one to the class of an action that ended with a status.
func (s *Summary) Count(a Action, status Status) {
	switch status {
	case StatusFailed:
		s.Failed++
		return
	case StatusBlocked:
		s.Blocked++
		return
	case StatusInterrupted:
		s.Interrupted++
		return
	case StatusSkipped:
		s.NotStarted++
		return
	case StatusWaiting:
		s.Waiting++
		if a == Wait {
			return
		}
	default:
	}
	s.Add(a, 1)
}

// CountLine counts one line of a plan.
func (p *Plan) CountLine(a *Planned) {
	if p.sleeping(a) {
		p.Summary.InDev++
		return
	}
	p.Summary.Count(a.Action, StatusDone)
}

// Add adds n to the counter of an action.
func (s *Summary) Add(a Action, n int) {
	switch a {
	case Create:
		s.Created += n
	case Adopt:
		s.Adopted += n
	case Recover:
		s.Recovered += n
	case Update:
		s.Updated += n
	case Replace:
		s.Replaced += n
	case Delete:
		s.Deleted += n
	case Move:
		s.Moved += n
	case Forget:
		s.Forgotten += n
	case Wait:
		s.Waiting += n
	case Unchanged:
		s.Unchanged += n
	case Blocked:
		s.Blocked += n
	}
}
