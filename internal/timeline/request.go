package timeline

// Request is how the requests of one phase differ from those of other phases. The zero value: not at all.
type Request struct {
	// Path replaces path and query of the URL, and is sent as it is written: //a, /%61. Method replaces the
	// method.
	Path   string `json:"path,omitempty"`
	Method string `json:"method,omitempty"`
	// Header holds extra fields, with names in canonical form. They replace the fields that all requests
	// have.
	Header map[string]string `json:"header,omitempty"`
	// Spellings are ways to write the path, which the requests of the phase take in turn. Empty: as it is.
	Spellings []Spelling `json:"spellings,omitempty"`
	// Keys gives partitions another name on the wire. Several partitions with one key are one client whose
	// requests are counted apart, as by a limiter with a limit for each route. An empty key is not sent: the
	// client has no name.
	Keys map[string]string `json:"keys,omitempty"`
	// EmptyKey sends the header field of the key without a value, where an empty key stands in a field.
	EmptyKey bool `json:"empty_key,omitempty"`
	// Addresses says which addresses Phase.Forge invents. Empty: AnyAddress.
	Addresses Addresses `json:"addresses,omitempty"`
	// Fresh sends each request on a connection of its own.
	Fresh bool `json:"fresh,omitempty"`
	// Mint gives each request its own name on the wire, which begins with the name of its partition.
	Mint bool `json:"mint,omitempty"`
	// Vary is in what the requests of the partitions named by OtherSide differ. Empty: in nothing.
	Vary Attribute `json:"vary,omitempty"`
}

// Key returns the name of a partition on the wire.
func (r *Request) Key(partition string) string {
	if k, ok := r.Keys[partition]; ok {
		return k
	}
	return partition
}

// IsZero tells whether r changes nothing.
func (r Request) IsZero() bool {
	return r.Path == "" && r.Method == "" && len(r.Header) == 0 && len(r.Spellings) == 0 &&
		len(r.Keys) == 0 && r.Addresses == "" && !r.Fresh && r.Vary == "" && !r.Mint && !r.EmptyKey
}

// Addresses says which addresses are invented.
type Addresses string

// The addresses. A limiter may tell clients apart by their addresses. It takes each address of AnyAddress for
// another client, and all addresses of the other kinds for one client.
const (
	// AnyAddress: another address in each request, of 198.18.0.0/15, which belongs to nobody (RFC 2544).
	AnyAddress Addresses = "any"
	// OneNetwork: another address in each request, all of one IPv6 network of 64 bits, as one subscriber has
	// it (RFC 6177). It lies in 2001:db8::/32, which is for documentation (RFC 3849).
	OneNetwork Addresses = "one-network"
	// TwoSpellings: one IPv4 address and, in turn, the IPv6 address that is mapped from it (RFC 4291, section
	// 2.5.5.2).
	TwoSpellings Addresses = "two-spellings"
)

// Spelling is a way to write a path that names the same resource on many servers.
type Spelling string

// The spellings, of the path /a/b.
const (
	// Plain is /a/b.
	Plain Spelling = "plain"
	// Doubled is //a/b, Dotted /./a/b, Trailing /a/b/.
	Doubled  Spelling = "doubled-slash"
	Dotted   Spelling = "dot-segment"
	Trailing Spelling = "trailing-slash"
	// Upper is /A/B.
	Upper Spelling = "upper-case"
	// Encoded is /%61/%62 (RFC 3986 section 6.2.2.2: equivalent to Plain).
	Encoded Spelling = "percent-encoded"
	// Queried is /a/b?rlcheck=1.
	Queried Spelling = "query"
)

// Spellings lists all spellings.
func Spellings() []Spelling {
	return []Spelling{Plain, Doubled, Dotted, Trailing, Upper, Encoded, Queried}
}
