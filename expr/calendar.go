package expr

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Calendar arithmetic on the proleptic Gregorian calendar in int64, without time.Time: its formatting stops at four-digit
// years, and a nanosecond value must not pass through time.Duration's range.

const secondsPerDay = 86400

// daysFromCivil counts days from 1970-01-01. Years begin in March, so that the leap day is the last of its year.
func daysFromCivil(y int64, m, d int) int64 {
	if m <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := int64((153*((m+9)%12)+2)/5 + d - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

func civilFromDays(days int64) (y int64, m, d int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	m = int(mp+2)%12 + 1
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return y, m, d
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func leap(y int64) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

func daysIn(y int64, m int) int {
	if m == 2 && leap(y) {
		return 29
	}
	return [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
}

// scanner takes digits and separators off the front of a text.
type scanner struct{ s string }

func (c *scanner) eat(b byte) bool {
	if c.s != "" && c.s[0] == b {
		c.s = c.s[1:]
		return true
	}
	return false
}

// digits takes between lo and hi digits and returns their value.
func (c *scanner) digits(lo, hi int) (v int64, n int, ok bool) {
	for n < hi && n < len(c.s) && '0' <= c.s[n] && c.s[n] <= '9' {
		v = v*10 + int64(c.s[n]-'0')
		n++
	}
	c.s = c.s[n:]
	return v, n, n >= lo
}

// date takes [-]YYYY-MM-DD; years have four to seven digits.
func (c *scanner) date() (days int64, err error) {
	neg := c.eat('-')
	y, _, ok1 := c.digits(4, 7)
	ok1 = ok1 && c.eat('-')
	m, _, ok2 := c.digits(1, 2)
	ok2 = ok2 && c.eat('-')
	d, _, ok3 := c.digits(1, 2)
	if !ok1 || !ok2 || !ok3 {
		return 0, errors.New("write a date as YYYY-MM-DD")
	}
	if neg {
		y = -y
	}
	if m < 1 || m > 12 || d < 1 || int(d) > daysIn(y, int(m)) {
		return 0, errors.New("no such day")
	}
	return daysFromCivil(y, int(m), int(d)), nil
}

// clock is a time of day; frac is the number of digits written after the second.
type clock struct {
	sec  int64
	nano int64
	frac int
}

// clock takes HH:MM[:SS[.fffffffff]].
func (c *scanner) clock() (clock, error) {
	bad := errors.New("write a time as HH:MM:SS.ffffff")
	h, _, ok := c.digits(1, 2)
	if !ok || !c.eat(':') {
		return clock{}, bad
	}
	m, _, ok := c.digits(2, 2)
	if !ok {
		return clock{}, bad
	}
	var s int64
	t := clock{}
	if c.eat(':') {
		if s, _, ok = c.digits(2, 2); !ok {
			return clock{}, bad
		}
		if c.eat('.') {
			f, n, ok := c.digits(1, 9)
			if !ok {
				return clock{}, bad
			}
			for range 9 - n {
				f *= 10
			}
			t.nano, t.frac = f, n
		}
	}
	if h > 23 || m > 59 || s > 59 {
		return clock{}, errors.New("no such time of day")
	}
	t.sec = h*3600 + m*60 + s
	return t, nil
}

// zone takes nothing, Z, or ±HH[[:]MM]; ok is false if there is none.
func (c *scanner) zone() (offset int64, ok bool, err error) {
	c.s = strings.TrimLeft(c.s, " ")
	if c.s == "" {
		return 0, false, nil
	}
	if c.eat('Z') || c.eat('z') {
		return 0, true, nil
	}
	bad := errors.New("write a zone as Z or +HH:MM")
	sign := int64(1)
	if !c.eat('+') {
		if !c.eat('-') {
			return 0, false, bad
		}
		sign = -1
	}
	h, _, okh := c.digits(1, 2)
	var m int64
	if c.eat(':') || c.s != "" {
		var okm bool
		if m, _, okm = c.digits(2, 2); !okm {
			return 0, false, bad
		}
	}
	if !okh || h > 18 || m > 59 {
		return 0, false, bad
	}
	return sign * (h*3600 + m*60), true, nil
}

// moment is a timestamp as written: seconds and nanoseconds since the epoch, on the wall or, with a zone, in UTC.
type moment struct {
	sec   int64
	nano  int64
	frac  int
	zoned bool
}

func parseDate(s string) (days int64, err error) {
	c := scanner{strings.TrimSpace(s)}
	days, err = c.date()
	if err == nil && c.s != "" {
		err = errors.New("write a date as YYYY-MM-DD")
	}
	return days, err
}

func parseClock(s string) (clock, error) {
	c := scanner{strings.TrimSpace(s)}
	t, err := c.clock()
	if err == nil && c.s != "" {
		err = errors.New("write a time as HH:MM:SS.ffffff")
	}
	return t, err
}

// parseMoment reads a date, or a date and a time of day apart by a space or T, and a zone.
func parseMoment(s string) (moment, error) {
	c := scanner{strings.TrimSpace(s)}
	days, err := c.date()
	if err != nil {
		return moment{}, err
	}
	m := moment{sec: days * secondsPerDay}
	if c.s == "" {
		return m, nil
	}
	if !c.eat(' ') && !c.eat('T') && !c.eat('t') {
		return moment{}, errors.New("write a timestamp as YYYY-MM-DD HH:MM:SS.ffffff")
	}
	t, err := c.clock()
	if err != nil {
		return moment{}, err
	}
	off, zoned, err := c.zone()
	if err == nil && c.s != "" {
		err = errors.New("write a timestamp as YYYY-MM-DD HH:MM:SS.ffffff")
	}
	m.sec += t.sec - off
	m.nano, m.frac, m.zoned = t.nano, t.frac, zoned
	return m, err
}

// in returns the moment in a unit; it must be exact.
func (m moment) in(u arrow.TimeUnit) (int64, error) {
	n := perSecond(u)
	if m.sec > math.MaxInt64/n-1 || m.sec < math.MinInt64/n+1 {
		return 0, fmt.Errorf("outside the range of a timestamp in %s", u)
	}
	return m.sec*n + m.nano/(1e9/n), nil
}

func perSecond(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

// formatDate writes [-]YYYY-MM-DD.
func formatDate(days int64) string {
	y, m, d := civilFromDays(days)
	sign := ""
	if y < 0 {
		sign, y = "-", -y
	}
	return fmt.Sprintf("%s%04d-%02d-%02d", sign, y, m, d)
}

// formatClock writes HH:MM:SS and the fraction of v units of 1/n second, cut of trailing zeros; nanoseconds are kept at nine
// digits, since their number tells the unit when the text is read again.
func formatClock(v, n int64) string {
	s := fmt.Sprintf("%02d:%02d:%02d", v/n/3600, v/n/60%60, v/n%60)
	if n == 1 {
		return s
	}
	f := fmt.Sprintf("%0*d", len(fmt.Sprint(n))-1, v%n)
	if n < 1e9 {
		f = strings.TrimRight(f, "0")
	}
	if f == "" {
		return s
	}
	return s + "." + f
}

func formatTimestamp(v int64, u arrow.TimeUnit) string {
	n := perSecond(u)
	days := floorDiv(v, n*secondsPerDay)
	return formatDate(days) + " " + formatClock(v-days*n*secondsPerDay, n)
}
