package checks

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oversell/oversell/history"
)

// seconds writes a time since the run's start: "3.214 s".
func seconds(at time.Duration) string {
	return strconv.FormatFloat(at.Seconds(), 'f', 3, 64) + " s"
}

// timed is a line of a story: a moment of the run, and what happened then.
func timed(at time.Duration, text string) string { return seconds(at) + "  " + text }

// span writes how long something took: "412 ms", "1.205 s".
func span(d time.Duration) string {
	switch {
	case d >= time.Second:
		return seconds(d)
	case d >= 10*time.Millisecond:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	default:
		d = d.Round(10 * time.Microsecond)
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + " ms"
	}
}

// counted writes a number with its noun: "1 unit", "3 units".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// listed joins at most limit of the items and counts the others.
func listed(items []string, limit int) string {
	if len(items) <= limit {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:limit], ", "), len(items)-limit)
}

// buyerName is how people know whoever made a purchase.
func buyerName(instance, buyer int) string {
	if buyer == 0 {
		return instanceName(instance)
	}
	return fmt.Sprintf("instance %d, buyer %d", instance, buyer)
}

func instanceName(instance int) string {
	if instance == 0 {
		return "somebody unknown"
	}
	return fmt.Sprintf("instance %d", instance)
}

// numbers are the numbers of the events that are there.
func numbers(events ...*history.Event) []int64 {
	ns := make([]int64, 0, len(events))
	for _, e := range events {
		if e != nil {
			ns = append(ns, e.N)
		}
	}
	return ns
}
