// Package fleet lets several agents send one schedule together. A coordinator gives each agent a part of the
// schedule, lets all begin at one instant, and merges their recordings into one. They communicate through a
// Redis server and know nothing else of one another.
//
// The keys of a run have one hash tag, so that a cluster keeps them on one node, whose clock is the common
// one:
//
//	rlcheck:runs                  a stream: the names of the runs
//	rlcheck:{RUN}:lease           lives as long as the coordinator does: nobody sends without it
//	rlcheck:{RUN}:round           the number of the recording that is wanted
//	rlcheck:{RUN}:order:N         what is to be sent, for all agents
//	rlcheck:{RUN}:shards:N        a stream of the parts, which a group of consumers takes
//	rlcheck:{RUN}:reports:N       a stream: what agents report (ready, met, armed, done, failed)
//	rlcheck:{RUN}:control:N       a stream: what the coordinator orders (meet, begin, stop)
//	rlcheck:{RUN}:beats:N         a hash: how far each agent is
//	rlcheck:{RUN}:results:N:PART  a stream of the pieces of a recording
//	rlcheck:{RUN}:over            the run is over
//
// In time:
//
//	coordinator  shards -.                 .- begin: in 500 ms   .- meet, begin      .- merge
//	agent                '- clock, ready --'   [phase] met, armed '-- [phase] done, pieces
//
// No part is given out twice, since sending load twice would change it: a run whose agent dies before the
// begin does not begin.
package fleet
