package metrics

// MostKeys is how many keys are remembered.
const MostKeys = mostKeys

// RememberedKeys is of how many keys l remembers something.
func RememberedKeys(l *Lock) int {
	l.streaks.mu.Lock()
	defer l.streaks.mu.Unlock()
	return len(l.streaks.keys)
}

// Waiting is how many wait for a scrape.
func Waiting(s *Server) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}
