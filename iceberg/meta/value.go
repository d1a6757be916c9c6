package meta

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/lakescan/lakescan/expr"
)

// ParseValue reads a value by the JSON single-value rules (Iceberg specification, appendix D, "JSON single-value
// serialization"). A struct's value is its presence alone. Lists and maps with a value are ErrUnsupported.
func ParseValue(t Type, raw json.RawMessage) (expr.Literal, error) {
	lit := expr.Literal{Type: t.Arrow()}
	if len(raw) == 0 || string(raw) == "null" {
		return lit, nil
	}
	var err error
	switch t.Kind {
	case Boolean:
		var b bool
		err = json.Unmarshal(raw, &b)
		lit.Value = b
	case Int:
		var v int32
		err = json.Unmarshal(raw, &v)
		lit.Value = int64(v)
	case Long:
		var v int64
		err = json.Unmarshal(raw, &v)
		lit.Value = v
	case Float, Double:
		lit.Value, err = parseFloat(t.Kind, raw)
	case Struct:
		lit.Value = struct{}{}
	case List, Map, Variant, Geometry, Geography, Null, Other:
		err = &UnsupportedError{Ability: "a default of type " + t.String()}
	default:
		var text string
		if err = json.Unmarshal(raw, &text); err == nil {
			lit.Value, err = parseText(t, text)
		}
	}
	if err != nil {
		return expr.Literal{}, err
	}
	return lit, nil
}

func parseFloat(k Kind, raw []byte) (float64, error) {
	text := string(raw)
	if raw[0] == '"' { // NaN and infinities have no number form in JSON
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
	}
	size := 64
	if k == Float {
		size = 32
	}
	v, err := strconv.ParseFloat(text, size)
	if err != nil {
		return 0, fmt.Errorf("malformed number %q", text)
	}
	return v, nil
}

// parseText reads the values that JSON writes as strings.
func parseText(t Type, text string) (any, error) {
	switch t.Kind {
	case String:
		return text, nil
	case Decimal:
		return parseDecimal(text, t.Precision, t.Scale)
	case Binary, Fixed:
		b, err := hex.DecodeString(text)
		if err == nil && t.Kind == Fixed && len(b) != t.Length {
			err = fmt.Errorf("%d bytes for %s", len(b), t.Text)
		}
		return b, err
	case UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err == nil && len(b) != 16 {
			err = fmt.Errorf("malformed uuid %q", text)
		}
		return b, err
	}
	return parseTime(t.Kind, text)
}

func parseTime(k Kind, text string) (any, error) {
	var layout string
	switch k {
	case Date:
		layout = "2006-01-02"
	case Time:
		layout = "15:04:05.999999999"
	case Timestamp, TimestampNS:
		layout = "2006-01-02T15:04:05.999999999"
	case TimestampTZ, TimestampTZNS:
		layout = "2006-01-02T15:04:05.999999999Z07:00"
	default:
		return nil, fmt.Errorf("no text form for this type")
	}
	v, err := time.Parse(layout, text)
	if err != nil && strings.Count(text, ":") == 1 { // seconds may be left out
		v, err = time.Parse(strings.Replace(layout, ":05.999999999", "", 1), text)
	}
	if err != nil {
		return nil, err
	}
	switch k {
	case Date:
		return v.Unix() / 86400, nil // midnight: no remainder
	case Time:
		return int64(v.Hour()*3600+v.Minute()*60+v.Second())*1e6 + int64(v.Nanosecond())/1e3, nil
	case TimestampNS, TimestampTZNS:
		if ns := v.UnixNano(); time.Unix(0, ns).Equal(v) {
			return ns, nil
		}
		return nil, fmt.Errorf("%q does not fit 64 bits of nanoseconds", text)
	}
	return v.UnixMicro(), nil
}

// parseDecimal gives the unscaled value; text may have an exponent, and no digit may be lost.
func parseDecimal(text string, precision, scale int32) (*big.Int, error) {
	bad := fmt.Errorf("malformed decimal(%d, %d) %q", precision, scale, text)
	mantissa, exponent := text, int64(0)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.ParseInt(text[i+1:], 10, 16); err != nil {
			return nil, bad
		}
		mantissa = text[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift := int64(scale) + exponent - int64(len(fraction))
	if shift > 76 || shift < -76 || len(mantissa) > 120 {
		return nil, bad
	}
	v, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return nil, bad
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	if shift >= 0 {
		v.Mul(v, ten)
	} else if _, rest := v.QuoRem(v, ten, new(big.Int)); rest.Sign() != 0 {
		return nil, bad
	}
	if v.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)) >= 0 {
		return nil, bad
	}
	return v, nil
}
