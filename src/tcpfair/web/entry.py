"""What the page calls: nopython code that lays out the arrays of a run in one piece of memory and runs the engine on them.

Set-up and loop are the engine's own (`tcpfair.engine.setup`, `tcpfair.engine.loop`); what `tcpfair.engine.dumbbell` does
with NumPy arrays from Python, finding room for them, is done here with offsets into the heap. The places of arrays have no
effect on a run. The caller writes the records of a scenario and a PLACES record with their offsets, zero after them.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from tcpfair.cc.registry import dtypes
from tcpfair.engine import loop, setup, traffic
from tcpfair.engine.blocks import LOG_RESERVE
from tcpfair.engine.loop import REACHED, WANTS_SLOTS
from tcpfair.engine.setup import GIVEN, GIVEN_FLOW
from tcpfair.engine.state import ACK_SLOT, ENDPOINT, EVENT, LINK, NEVER, PACKET, SLOT
from tcpfair.engine.traffic import ARRIVAL_OF_FLOW, LAW, SOURCE, Pool, make_pool
from tcpfair.engine.tree import leaves_for
from tcpfair.jit import jit, part_of_another

STATE, PARAMS = dtypes()
_leaves_for = jit(leaves_for)
draw_arrivals, set_up, set_up_slots, simulate = (
    part_of_another(entry) for entry in (traffic.draw_arrivals, setup.set_up, setup.set_up_slots, loop.simulate)
)
POOL_STATE = make_pool(*(np.zeros(0),) * 4).state.dtype

# what `run` returns
DONE = 0  # the run has reached the time that it was to run to
WANTS_MEMORY = 1  # call again with a heap of PLACES.needed_bytes; what is in the heap stays
WANTS_ROWS = 2  # before the start: call again with PLACES.arrival_rows as they are now, and zeros from inputs_end on

FIRST_SLOTS = 256  # short flows at a time; more when they are taken
FIRST_LOG_ROWS = 4096
LINE_BYTES = 64


# Where everything is, as offsets in bytes from the start of the heap (``_at``), and how many elements it has. The first line
# is written by the caller: numbers, and where GIVEN, GIVEN_FLOW and parameters (of the flows, then of the sources), SOURCE,
# LAW and the end of each source's laws (int64) are. The others are zero before the first call.
_PLACES = """
flows sources laws logs samples links arrival_rows inputs_end
given_at given_flows_at given_params_at sources_at laws_at law_ends_at
ready used needed_bytes rows arrivals arrivals_at leaves
links_at ends_at states_at params_at source_ends_at source_states_at
pool_at free_at free_rows done_at keys_at winners_at
ring_at ring_rows acks_at acks_rows lost_at lost_rows
got_at got_rows access_at access_rows log_at log_rows
out_at link_out_at web_out_at
"""
PLACES = np.dtype([(name, np.int64) for name in _PLACES.split()], align=True)


# ---------------------------------------------------------------- memory


@intrinsic
def array_at(typingctx, heap, offset, shape, dtype):
    """The C-contiguous array of ``shape``, a length or a tuple of them, and ``dtype`` at ``offset`` bytes into the heap.

    numba's own `carray` needs its runtime, which these functions do without.
    """
    is_flat = isinstance(shape, types.Integer)
    array_type = types.Array(dtype.dtype, 1 if is_flat else len(shape), "C")

    def code(context, builder, signature, args):
        word = context.get_value_type(types.int64)
        item_bytes = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
        address = builder.add(builder.ptrtoint(args[0], word), args[1])
        lengths = [args[2]] if is_flat else cgutils.unpack_tuple(builder, args[2], count=array_type.ndim)
        strides = [context.get_constant(types.int64, item_bytes)]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        array = make_array(array_type)(context, builder)
        data = builder.inttoptr(address, context.get_data_type(array_type.dtype).as_pointer())
        populate_array(array, data, lengths, strides, item_bytes, None)
        return array._getvalue()

    return array_type(heap, offset, shape, dtype), code


@jit
def take(places, n_bytes):
    """The next ``n_bytes`` of the heap, in lines of the cache."""
    here = places.used
    places.used = (here + n_bytes + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
    return here


@jit
def fits(places, n_bytes, heap_bytes):
    """Whether ``n_bytes`` more fit into the heap; ``needed_bytes`` is then the size of a heap that suffices."""
    places.needed_bytes = places.used + n_bytes + LINE_BYTES
    return places.needed_bytes <= heap_bytes


@jit
def moved(heap, places, here, used_bytes, n_bytes):
    """A fresh place of ``n_bytes`` with the ``used_bytes``, a multiple of 8 or nearly, from offset ``here``."""
    there = take(places, n_bytes)
    words = (used_bytes + 7) // 8
    old, new = array_at(heap, here, words, np.int64), array_at(heap, there, words, np.int64)
    for k in range(words):
        new[k] = old[k]
    return there


@jit
def longer_size(used, reserve):
    """The next length of an array of which a flow may need ``reserve`` more: rarely extended, even if that is much."""
    return used + reserve + max(used, reserve)


# ---------------------------------------------------------------- before the run


@jit
def draw_all(heap, places):
    """Draw the arrivals of all sources; in order of time, those of a lower source first, at ``arrivals_at``.

    Returns their number, or -1 when ``arrival_rows`` are too few.
    """
    n = places.sources
    sources = array_at(heap, places.sources_at, n, SOURCE)
    laws = array_at(heap, places.laws_at, places.laws, LAW)
    law_ends = array_at(heap, places.law_ends_at, n, np.int64)
    drawn = array_at(heap, take(places, places.arrival_rows * ARRIVAL_BYTES), places.arrival_rows, ARRIVAL_OF_FLOW)
    heads = array_at(heap, take(places, n * 8), n, np.int64)
    ends = array_at(heap, take(places, n * 8), n, np.int64)
    count, first_law = 0, 0
    for s in range(n):
        rows = drawn[count:]
        found = draw_arrivals(sources[s], laws[first_law : law_ends[s]], rows)
        if found > rows.size:
            return -1
        for k in range(found):
            rows[k].source = s
        heads[s] = count
        count += found
        ends[s] = count
        first_law = law_ends[s]
    places.arrivals_at = take(places, count * ARRIVAL_BYTES)
    arrivals = array_at(heap, places.arrivals_at, count, ARRIVAL_OF_FLOW)
    for k in range(count):
        first = -1
        for s in range(n):
            if heads[s] < ends[s] and (first < 0 or drawn[heads[s]].start_s < drawn[heads[first]].start_s):
                first = s
        arrivals[k] = drawn[heads[first]]
        heads[first] += 1
    return count


@jit
def prepare(heap, heap_bytes, places):
    """The records of a run before its first event, see dumbbell.Simulation."""
    n, n_sources, n_links = places.flows, places.sources, places.links
    slots = FIRST_SLOTS if n_sources > 0 else 0
    most_rows = n + 1 + slots
    places.used = places.inputs_end
    at_most = 2 * places.arrival_rows * ARRIVAL_BYTES + n_links * LINK_BYTES + 2 * n_sources * 8
    at_most += (most_rows + n_sources) * (ENDPOINT_BYTES + STATE_BYTES + PARAMS_BYTES) + slots * 8
    at_most += POOL_BYTES + 32 + 8 * places.samples * (5 * n + 5 * n_links + 6) + 32 * LINE_BYTES
    if not fits(places, at_most, heap_bytes):
        return WANTS_MEMORY
    given = array_at(heap, places.given_at, 1, GIVEN)
    flows = array_at(heap, places.given_flows_at, n + n_sources, GIVEN_FLOW)
    params_given = array_at(heap, places.given_params_at, n + n_sources, PARAMS)
    places.arrivals = 0
    if n_sources > 0:
        places.arrivals = draw_all(heap, places)
        if places.arrivals < 0:
            places.arrival_rows *= 2
            return WANTS_ROWS
    arrivals = array_at(heap, places.arrivals_at, places.arrivals, ARRIVAL_OF_FLOW)
    longest_rtt_s = 0.0
    for k in range(arrivals.size):
        longest_rtt_s = max(longest_rtt_s, arrivals[k].rtt_s)
    # the first row after the long flows is the next arrival
    places.rows = n + 1 + slots if places.arrivals > 0 else n
    places.links_at = take(places, n_links * LINK_BYTES)
    places.ends_at = take(places, places.rows * ENDPOINT_BYTES)
    places.states_at = take(places, places.rows * STATE_BYTES)
    places.params_at = take(places, places.rows * PARAMS_BYTES)
    places.source_ends_at = take(places, n_sources * ENDPOINT_BYTES)
    places.source_states_at = take(places, n_sources * STATE_BYTES)
    places.pool_at, places.done_at = take(places, POOL_BYTES), take(places, 32)
    places.out_at = take(places, 5 * places.samples * n * 8)
    places.link_out_at = take(places, n_links * 5 * places.samples * 8)
    places.web_out_at = take(places, 6 * places.samples * 8)
    links = array_at(heap, places.links_at, n_links, LINK)
    ends = array_at(heap, places.ends_at, places.rows, ENDPOINT)
    states = array_at(heap, places.states_at, places.rows, STATE)
    params = array_at(heap, places.params_at, places.rows, PARAMS)
    source_ends = array_at(heap, places.source_ends_at, n_sources, ENDPOINT)
    source_states = array_at(heap, places.source_states_at, n_sources, STATE)
    set_up(given, flows[:n], flows[n:], longest_rtt_s, links, ends, states, source_ends, source_states)
    for i in range(n):
        params[i] = params_given[i]
    if places.arrivals > 0:
        set_up_slots(links, ends, n + 1, source_ends)
        places.free_at = take(places, slots * 8)
        places.free_rows = slots
        add_free(heap, places, n + 1, slots)
    places.ready = 1
    return DONE


@jit
def add_free(heap, places, first, slots):
    """Slots from ``first`` on are free, the lowest on top. None was free before."""
    free = array_at(heap, places.free_at, places.free_rows, np.int64)
    for k in range(slots):
        free[k] = first + slots - 1 - k
    array_at(heap, places.pool_at, 1, POOL_STATE)[0].free = slots


# ---------------------------------------------------------------- room


@jit
def add_slots(heap, heap_bytes, places):
    """Twice as many rows for flows. False when the heap is too small."""
    first = slots = places.rows
    rows = first + slots
    n_bytes = rows * (ENDPOINT_BYTES + STATE_BYTES + PARAMS_BYTES) + (places.free_rows + slots) * 8 + 4 * LINE_BYTES
    if not fits(places, n_bytes, heap_bytes):
        return False
    places.ends_at = moved(heap, places, places.ends_at, first * ENDPOINT_BYTES, rows * ENDPOINT_BYTES)
    places.states_at = moved(heap, places, places.states_at, first * STATE_BYTES, rows * STATE_BYTES)
    places.params_at = moved(heap, places, places.params_at, first * PARAMS_BYTES, rows * PARAMS_BYTES)
    places.rows = rows
    places.free_at = take(places, (places.free_rows + slots) * 8)
    places.free_rows += slots
    set_up_slots(
        array_at(heap, places.links_at, places.links, LINK),
        array_at(heap, places.ends_at, rows, ENDPOINT),
        first,
        array_at(heap, places.source_ends_at, places.sources, ENDPOINT),
    )
    add_free(heap, places, first, slots)
    return True


@jit
def fit_tree(heap, heap_bytes, places):
    """A winner tree with a leaf for every row. False when the heap is too small."""
    leaves = _leaves_for(places.rows)
    if leaves == places.leaves:
        return True
    if not fits(places, 4 * leaves * 8 + 2 * LINE_BYTES, heap_bytes):
        return False
    used_bytes, n_bytes = 2 * places.leaves * 8, 2 * leaves * 8
    keys_at = moved(heap, places, places.keys_at, used_bytes, n_bytes)
    keys = array_at(heap, keys_at, 2 * leaves, np.float64)
    for k in range(2 * places.leaves, keys.size):
        keys[k] = NEVER
    winners_at = moved(heap, places, places.winners_at, used_bytes, n_bytes)
    places.keys_at, places.winners_at, places.leaves = keys_at, winners_at, leaves
    return True


def _lengthener(name: str, dtype: np.dtype):
    """A compiled function that makes the array ``name`` longer if it is too short for what one flow may need."""
    AT, ROWS, USED, RESERVE = (f"{name}_{part}" for part in ("at", "rows", "used", "reserve"))
    item_bytes = dtype.itemsize

    @jit
    def lengthen(heap, heap_bytes, places, run):
        used, reserve = run[USED], run[RESERVE]
        if used + reserve <= places[ROWS]:
            return True
        rows = longer_size(used, reserve)
        if not fits(places, rows * item_bytes, heap_bytes):
            return False
        places[AT] = moved(heap, places, places[AT], min(used, places[ROWS]) * item_bytes, rows * item_bytes)
        places[ROWS] = rows
        return True

    return lengthen


lengthen_ring = _lengthener("ring", SLOT)
lengthen_acks = _lengthener("acks", ACK_SLOT)
lengthen_access = _lengthener("access", PACKET)
lengthen_lost = _lengthener("lost", PACKET)
lengthen_got = _lengthener("got", np.dtype(np.uint8))


@jit
def lengthen_log(heap, heap_bytes, places, run):
    if places.logs == 0 or run.logged + LOG_RESERVE <= places.log_rows:
        return True
    rows = max(2 * places.log_rows, FIRST_LOG_ROWS)
    if not fits(places, rows * EVENT_BYTES, heap_bytes):
        return False
    places.log_at = moved(heap, places, places.log_at, run.logged * EVENT_BYTES, rows * EVENT_BYTES)
    places.log_rows = rows
    return True


@jit
def make_room(heap, heap_bytes, places, run):
    """Every array is long enough for what one flow may still need. False when the heap is too small."""
    # one after the other: what was lengthened before the heap was found too small stays so
    if (
        not fit_tree(heap, heap_bytes, places)
        or not lengthen_ring(heap, heap_bytes, places, run)
        or not lengthen_acks(heap, heap_bytes, places, run)
        or not lengthen_access(heap, heap_bytes, places, run)
        or not lengthen_lost(heap, heap_bytes, places, run)
        or not lengthen_got(heap, heap_bytes, places, run)
        or not lengthen_log(heap, heap_bytes, places, run)
    ):
        return False
    run.wants_room = 0
    return True


# ---------------------------------------------------------------- the entry


@jit
def simulate_on(heap, places, until_s):
    """The engine's loop on the arrays as they are."""
    n, rows, samples = places.flows, places.rows, places.samples
    params_given = array_at(heap, places.given_params_at, n + places.sources, PARAMS)
    pool = Pool(
        array_at(heap, places.pool_at, 1, POOL_STATE),
        array_at(heap, places.arrivals_at, places.arrivals, ARRIVAL_OF_FLOW),
        array_at(heap, places.free_at, places.free_rows, np.int64),
        array_at(heap, places.done_at, (2, 2), np.int64),
        array_at(heap, places.source_ends_at, places.sources, ENDPOINT),
        array_at(heap, places.source_states_at, places.sources, STATE),
        params_given[n:],
    )
    return simulate(
        array_at(heap, places.links_at, places.links, LINK),
        array_at(heap, places.ends_at, rows, ENDPOINT),
        array_at(heap, places.states_at, rows, STATE),
        array_at(heap, places.params_at, rows, PARAMS),
        array_at(heap, places.ring_at, places.ring_rows, SLOT),
        array_at(heap, places.acks_at, places.acks_rows, ACK_SLOT),
        array_at(heap, places.lost_at, places.lost_rows, PACKET),
        array_at(heap, places.got_at, places.got_rows, np.uint8),
        array_at(heap, places.access_at, places.access_rows, PACKET),
        array_at(heap, places.log_at, places.log_rows, EVENT),
        array_at(heap, places.keys_at, 2 * places.leaves, np.float64),
        array_at(heap, places.winners_at, 2 * places.leaves, np.uint64),
        pool,
        array_at(heap, places.out_at, (5, samples, n), np.float64),
        array_at(heap, places.link_out_at, (places.links, 5, samples), np.float64),
        array_at(heap, places.web_out_at, (2, 3, samples), np.float64),
        until_s,
    )


@jit
def run(heap, heap_bytes, until_s):
    """Continue the scenario in the heap to ``until_s``; the first call sets it up. Returns DONE or WANTS_MEMORY."""
    places = array_at(heap, 0, 1, PLACES)[0]
    if places.ready == 0:
        status = prepare(heap, heap_bytes, places)
        if status != DONE:
            return status
    link = array_at(heap, places.links_at, places.links, LINK)[0]
    while True:
        if not make_room(heap, heap_bytes, places, link):
            return WANTS_MEMORY
        status = simulate_on(heap, places, until_s)
        if status == REACHED:
            return DONE
        if status == WANTS_SLOTS and not add_slots(heap, heap_bytes, places):
            return WANTS_MEMORY


ARRIVAL_BYTES, EVENT_BYTES, LINK_BYTES = ARRIVAL_OF_FLOW.itemsize, EVENT.itemsize, LINK.itemsize
ENDPOINT_BYTES, STATE_BYTES, PARAMS_BYTES = ENDPOINT.itemsize, STATE.itemsize, PARAMS.itemsize
POOL_BYTES = POOL_STATE.itemsize

SIGNATURE = types.int64(types.voidptr, types.int64, types.float64)
