# A dumbbell in ns-2: two routers, between them a drop-tail bottleneck in each direction that has one, and for each flow
# chains of queues and delays: from its sender to the router on its side, and from its receiver back to the other one.
#
# ns2.py appends the calls that make one scenario of these procedures. Times are in s, rates in bit/s, sizes of queues in
# packets unless they say bytes; flows are numbered from 0, short ones after the long ones; a direction is forward or
# reverse. Left behind: the file polls (one row per poll, see proc poll) and, for flows whose events are recorded,
# events.<flow> with the changes of traced variables.

remove-all-packet-headers ;# ns-2 is several times as fast with only the headers it needs
add-packet-header IP TCP Flags DCCP DCCP_ACK DCCP_DATA DCCP_DATAACK DCCP_REQ DCCP_RESP DCCP_RESET DCCP_CLOSE DCCP_CLOSEREQ

set ns [new Simulator]
$ns use-scheduler Splay ;# the fastest of them here
set near(forward) [$ns node] ;# the router on the sender's side
set far(forward) [$ns node]
set near(reverse) $far(forward)
set far(reverse) $near(forward)
set number(forward) 0 ;# flow identifier of a packet of data and of its ACK: the direction of the data
set number(reverse) 1
set wide_bps 1e12 ;# lines that hold nothing up
set deep_pkts 2000000
set links {}
foreach direction {forward reverse} {set finished_pkts($direction) 0}

# ---------------------------------------------------------------- links

proc wide_link {direction} {
    global ns near far wide_bps deep_pkts
    $ns simplex-link $near($direction) $far($direction) $wide_bps 0 DropTail
    $ns queue-limit $near($direction) $far($direction) $deep_pkts
}

# A queue of packets. DropTail drops what would fill its limit; the packet on the wire has left the queue.
proc bottleneck {direction rate_bps queue_pkts} {
    global ns near far
    $ns simplex-link $near($direction) $far($direction) $rate_bps 0 DropTail
    $ns queue-limit $near($direction) $far($direction) [expr {$queue_pkts + 1}]
    count_at $direction
}

# A queue of bytes for packets of several sizes. DropTail would ask whether this packet still fits, so that the small ones
# hardly ever find it full; RED, with thresholds that are never reached, asks whether the others have filled it.
proc shared_bottleneck {direction rate_bps queue_pkts packet_bytes} {
    global ns near far
    $ns simplex-link $near($direction) $far($direction) $rate_bps 0 RED
    set queue [[$ns link $near($direction) $far($direction)] queue]
    $queue set drop_tail_ true
    $queue set thresh_ 1e9
    $queue set maxthresh_ 1e9
    $queue set queue_in_bytes_ true
    # the buffer less half a packet, which on average is what is left of the one on the wire
    $queue set mean_pktsize_ [expr {$packet_bytes / 2}]
    $queue set limit_ [expr {2 * $queue_pkts - 1}]
    count_at $direction
}

# Packets are counted apart by the direction of their data.
proc count_at {direction} {
    global ns near far number links waiting counts
    set waiting($direction) [$ns makeflowmon Fid]
    set classifier [$waiting($direction) classifier]
    foreach kind {forward reverse} {
        set counts($direction,$kind) [new QueueMonitor/ED/Flow]
        $classifier set-hash auto 0 0 $number($kind) [$classifier installNext $counts($direction,$kind)]
    }
    $ns attach-fmon [$ns link $near($direction) $far($direction)] $waiting($direction)
    lappend links $direction
}

# ---------------------------------------------------------------- flows

# A flow is made of a receiver, a path and a sender, in this order.
proc receiver {i direction class settings} {
    global ns far number kind sink
    set kind($i) [expr {[string match Agent/DCCP/* $class] ? "dccp" : "tcp"}]
    set sink($i) [new $class]
    foreach {name value} $settings {$sink($i) set $name $value}
    $sink($i) set fid_ $number($direction)
    $ns attach-agent $far($direction) $sink($i)
    if {$kind($i) eq "dccp"} {
        $ns at 0 "$sink($i) listen"
    }
}

proc sender {i direction class settings} {
    global ns near number source sink forth
    set source($i) [new $class]
    foreach {name value} $settings {$source($i) set $name $value}
    $source($i) set fid_ $number($direction)
    $ns attach-agent $near($direction) $source($i)
    $source($i) target $forth($i)
    $ns connect $source($i) $sink($i)
    if {[$ns now] > 0} {
        $source($i) reset ;# begins with these settings; ns-2 does it when it starts for all that are there
    }
}

# Packets wait in a queue for a line of this rate and come out `delay_s` later at `next`. Returns where they enter.
proc line {rate_bps delay_s queue_pkts next} {
    set queue [new Queue/DropTail]
    set line [new DelayLink]
    $queue set limit_ [expr {$queue_pkts + 1}]
    $queue target $line
    $line set bandwidth_ $rate_bps
    $line set delay_ $delay_s
    $line target $next
    return $queue
}

# A packet that finds the line idle is held for a time uniform in [0, longest_s); those that come meanwhile wait behind it.
proc jitter {longest_s next} {
    global wide_bps deep_pkts
    set any_gap_s [new RandomVariable/Constant]
    $any_gap_s set val_ 0
    set hold_s [new RandomVariable/Uniform]
    $hold_s set min_ 0
    $hold_s set max_ $longest_s
    set queue [line $wide_bps 0 $deep_pkts $next]
    set delayer [new Delayer]
    $delayer alloc $any_gap_s $hold_s
    $delayer target [$queue target]
    $queue target $delayer
    return $queue
}

# One half of the propagation delay is in front of the bottleneck and one on the receiver's way back, so that what leaves
# the bottleneck has arrived but for its jitter. Access links that jitter do so behind the line: one that is never idle has
# to jitter as well.
proc path {i direction rtt_s access_bps access_pkts access_jitter_s path_jitter_s} {
    global near far wide_bps deep_pkts sink arrivals last_hop forth propagation
    set half_s [expr {$rtt_s / 2.0}]
    set entrance [$near($direction) entry]
    if {$access_jitter_s > 0} {
        set entrance [jitter $access_jitter_s $entrance]
    }
    set forth($i) [line $access_bps $half_s $access_pkts $entrance]
    set back [line $wide_bps $half_s $deep_pkts [$far($direction) entry]]
    set propagation($i) [list [$forth($i) target] [$back target]]
    $sink($i) target $back
    set arrivals($i) [new QueueMonitor]
    set last_hop($i) [new SnoopQueue/In]
    $last_hop($i) set-monitor $arrivals($i)
    $last_hop($i) target $sink($i)
    if {$path_jitter_s > 0} {
        set last_hop($i) [jitter $path_jitter_s $last_hop($i)]
    }
    [$far($direction) demux] install [$sink($i) set agent_port_] $last_hop($i)
}

# Random loss behind the bottleneck: what is lost has used it, and is no overflow.
proc lose {i direction rate} {
    global ns far sink loss last_hop kind
    set loss($i) [new ErrorModel]
    $loss($i) unit pkt
    $loss($i) set rate_ $rate
    $loss($i) ranvar [new RandomVariable/Uniform]
    $loss($i) drop-target [$ns set nullAgent_]
    $loss($i) target $last_hop($i)
    [$far($direction) demux] install [$sink($i) set agent_port_] $loss($i)
    if {$kind($i) eq "dccp"} {
        $loss($i) set enable_ 0
        after_handshake $i
    }
}

# A connection of DCCP does not survive the loss of the third packet of its handshake.
proc after_handshake {i} {
    global ns loss arrivals
    if {[$arrivals($i) set parrivals_] >= 3} {
        $loss($i) set enable_ 1
    } else {
        $ns at [expr {[$ns now] + 0.001}] "after_handshake $i"
    }
}

# TCP/Linux reads the window and the threshold of ns-2 once, when it is given its algorithm, so they have to be set before.
proc begin_linux {i algorithm parameters cwnd ssthresh} {
    global source
    foreach {module name value} $parameters {$source($i) set_ca_param $module $name $value}
    $source($i) set cwnd_ $cwnd
    $source($i) set ssthresh_ $ssthresh
    $source($i) select_ca $algorithm
}

proc begin_own {i ssthresh} {
    global source
    $source($i) set ssthresh_ $ssthresh
}

proc send_without_end {i} {
    global source
    set app [new Application/FTP]
    $app attach-agent $source($i)
    $app start
}

proc send {i pkts} {
    global source
    $source($i) advanceby $pkts
}

# No new data; what is lost is still sent again.
proc stop {i} {
    global source kind
    if {$kind($i) eq "dccp"} {
        $source($i) set packetSize_ 0 ;# DCCP sends no empty packets, and has no other way to stop but to hang up
    } else {
        $source($i) advance [expr {[$source($i) set maxseq_] + 1}]
    }
}

# Constant-rate increase with a constant 1 / k^power that follows the queue: k = reference_s + SRTT - empty_s.
proc follow_queue {i power reference_s empty_s} {
    global ns source flows short
    if {$i >= $flows && ![info exists short($i)]} {
        return ;# a short flow that is over
    }
    set srtt_s [smoothed_rtt_s $i]
    if {$srtt_s > 0} {
        set k_s [expr {$reference_s + max($srtt_s - $empty_s, 0)}]
        $source($i) set windowConstant_ [expr {pow($k_s, -$power)}]
    }
    $ns at [expr {[$ns now] + 0.01}] "follow_queue $i $power $reference_s $empty_s"
}

# ---------------------------------------------------------------- short flows

# `arrivals_of_flows` has start, source, RTT and packets of each in order of time. For each source there are a proc
# place_<source>, which makes receiver and path and returns the direction, and a proc begin_<source>, which makes the
# sender. Places are used again, `linger_s` after the last ACK, when nothing of the flow is under way. Senders are not: a
# reset leaves some of their state.
proc short_flows {wire_bytes linger_s arrivals_of_flows} {
    global wire linger to_come next_arrival
    set wire $wire_bytes
    set linger $linger_s
    set to_come $arrivals_of_flows
    set next_arrival 0
    await_arrival
}

proc await_arrival {} {
    global ns to_come next_arrival
    if {$next_arrival < [llength $to_come]} {
        $ns at [lindex $to_come $next_arrival] arrive
    }
}

proc arrive {} {
    global kind to_come next_arrival idle short in_order direction_of source sink arrivals propagation
    lassign [lrange $to_come $next_arrival $next_arrival+3] start_s web rtt_s pkts
    incr next_arrival 4
    if {[info exists idle($web)] && [llength $idle($web)]} {
        set i [lindex $idle($web) end]
        set idle($web) [lrange $idle($web) 0 end-1]
        foreach line $propagation($i) {$line set delay_ [expr {$rtt_s / 2.0}]}
        $sink($i) reset
        $sink($i) set bytes_ 0
        $arrivals($i) set parrivals_ 0
    } else {
        set i [array size kind]
        set direction_of($i) [place_$web $i $rtt_s]
    }
    set short($i) $pkts
    set in_order($i) 0
    begin_$web $i $rtt_s
    $source($i) proc done {} "finish $i $web"
    send $i $pkts
    await_arrival
}

proc finish {i web} {
    global ns linger short direction_of finished_pkts
    incr finished_pkts($direction_of($i)) $short($i)
    unset short($i)
    $ns at [expr {[$ns now] + $linger}] "retire $i $web"
}

proc retire {i web} {
    global ns near direction_of source idle
    $source($i) reset ;# ends its timers
    $ns detach-agent $near($direction_of($i)) $source($i)
    delete $source($i)
    unset source($i)
    lappend idle($web) $i
}

# ns-2 looks for the initial value of each variable of an object from its class upwards, which is most of the work of
# making a sender: let the class have all of them.
proc own_defaults {class} {
    foreach parent [$class info heritage] {
        foreach name [$parent info vars] {
            if {$name ni [$class info vars] && ![$parent array exists $name]} {
                $class set $name [$parent set $name]
            }
        }
    }
}

# Packets in order of a flow under way, from a counter of 32 bits.
proc in_order_pkts {i} {
    global sink wire in_order
    incr in_order($i) [expr {([$sink($i) set bytes_] - $in_order($i)) & 0xffffffff}]
    return [expr {$in_order($i) / $wire}]
}

# ---------------------------------------------------------------- what is recorded

proc smoothed_rtt_s {i} {
    global source kind
    if {$kind($i) eq "dccp"} {
        return [expr {max([$source($i) set srtt_], 0)}]
    }
    return [expr {[$source($i) set srtt_] / 8.0 * [$source($i) set tcpTick_]}]
}

proc record_events {i variables} {
    global source
    $source($i) attach [open events.$i w]
    foreach name $variables {$source($i) trace $name}
}

# Per flow: bytes in order with their headers (modulo 2^32; TCP only), data packets that have arrived, window, threshold
# and smoothed RTT. Per bottleneck: data sent and dropped, ACKs sent and dropped, and the bytes that wait. Per direction:
# packets of short flows in order and arrived, and the number of these flows.
proc poll {k} {
    global ns flows every_s polls_wanted polls_file kind source sink arrivals links waiting counts
    global short direction_of finished_pkts
    for {set i 0} {$i < $flows} {incr i} {
        set arrived [$arrivals($i) set parrivals_]
        if {$kind($i) eq "dccp"} {
            # all but the request and the sender's own acknowledgements
            lappend row 0 [expr {$arrived - 1 - [$source($i) set num_ack_pkt_]}]
        } else {
            lappend row [$sink($i) set bytes_] $arrived
        }
        lappend row [$source($i) set cwnd_] [$source($i) set ssthresh_] [smoothed_rtt_s $i]
    }
    foreach direction $links {
        foreach kind_of_packet [list $direction [expr {$direction eq "forward" ? "reverse" : "forward"}]] {
            set count $counts($direction,$kind_of_packet)
            lappend row [$count set pdepartures_] [$count set pdrops_]
        }
        lappend row [$waiting($direction) set size_]
    }
    foreach direction {forward reverse} {
        set delivered($direction) $finished_pkts($direction)
        set received($direction) $finished_pkts($direction)
        set active($direction) 0
    }
    foreach {i pkts} [array get short] {
        set direction $direction_of($i)
        set here [in_order_pkts $i]
        incr delivered($direction) $here
        # some may have come twice
        incr received($direction) [expr {max($here, min([$arrivals($i) set parrivals_], $pkts))}]
        incr active($direction)
    }
    foreach direction {forward reverse} {
        lappend row $delivered($direction) $received($direction) $active($direction)
    }
    puts $polls_file $row
    if {$k == $polls_wanted} {
        exit 0
    }
    incr k
    $ns at [expr {$k * $every_s}] "poll $k"
}

proc simulate {every polls} {
    global ns flows every_s polls_wanted polls_file kind
    set flows [array size kind] ;# short ones come later
    set every_s $every
    set polls_wanted $polls
    set polls_file [open polls w]
    $ns at $every_s "poll 1"
    $ns run
}
