# A dumbbell in ns-2: senders - left - right - receivers, with one drop-tail bottleneck from left to right.
#
# ns2.py appends the calls that make one scenario of these procedures. Times are in s, rates in bit/s, sizes of queues in
# packets; flows are numbered from 0. Left behind: the file polls (one row per poll, see proc poll) and, for flows whose
# events are recorded, events.<flow> with the changes of traced variables.

remove-all-packet-headers ;# ns-2 is several times as fast with only the headers it needs
add-packet-header IP TCP Flags DCCP DCCP_ACK DCCP_DATA DCCP_DATAACK DCCP_REQ DCCP_RESP DCCP_RESET DCCP_CLOSE DCCP_CLOSEREQ

set ns [new Simulator]
$ns use-scheduler Splay ;# the fastest of them here
set left [$ns node]
set right [$ns node]
set wide_bps 1e12 ;# links that hold nothing up
set deep_pkts 2000000

# ---------------------------------------------------------------- links

proc link {from to rate_bps delay_s queue_pkts} {
    global ns
    $ns simplex-link $from $to $rate_bps $delay_s DropTail
    # DropTail drops a packet that finds limit - 1 others; the one on the wire has left the queue
    $ns queue-limit $from $to [expr {$queue_pkts + 1}]
}

# A packet that finds the link idle is held for a time uniform in [0, longest_s); those that come meanwhile wait behind it.
proc jitter {from to longest_s} {
    global ns
    set any_gap_s [new RandomVariable/Constant]
    $any_gap_s set val_ 0
    set hold_s [new RandomVariable/Uniform]
    $hold_s set min_ 0
    $hold_s set max_ $longest_s
    set delayer [new Delayer]
    $delayer alloc $any_gap_s $hold_s
    $ns insert-delayer $from $to $delayer
}

proc bottleneck {rate_bps queue_pkts} {
    global ns left right wide_bps deep_pkts bottleneck
    link $left $right $rate_bps 0 $queue_pkts
    link $right $left $wide_bps 0 $deep_pkts
    set bottleneck [$ns monitor-queue $left $right ""]
}

# The propagation delay is in front of the bottleneck and on the way back, so that what leaves a flow's last link has
# arrived.
proc path {i rtt_s access_bps access_pkts access_jitter_s path_jitter_s} {
    global ns left right wide_bps deep_pkts sender receiver arrivals
    set sender($i) [$ns node]
    set receiver($i) [$ns node]
    set entrance $left
    if {$access_jitter_s > 0} {
        # behind the access link: one that is never idle has to jitter as well
        set entrance [$ns node]
        link $entrance $left $wide_bps 0 $deep_pkts
        jitter $entrance $left $access_jitter_s
    }
    link $sender($i) $entrance $access_bps [expr {$rtt_s / 2.0}] $access_pkts
    link $right $receiver($i) $wide_bps 0 $deep_pkts
    link $receiver($i) $right $wide_bps [expr {$rtt_s / 2.0}] $deep_pkts
    link $left $sender($i) $wide_bps 0 $deep_pkts
    set arrivals($i) [$ns monitor-queue $right $receiver($i) ""]
    if {$path_jitter_s > 0} {
        jitter $right $receiver($i) $path_jitter_s
    }
}

# Random loss on a flow's last link: what is lost has used the bottleneck, and is no overflow.
proc lose {i rate} {
    global ns right receiver loss kind
    set loss($i) [new ErrorModel]
    $loss($i) unit pkt
    $loss($i) set rate_ $rate
    $loss($i) ranvar [new RandomVariable/Uniform]
    $ns lossmodel $loss($i) $right $receiver($i)
    $loss($i) drop-target [$ns set nullAgent_]
    if {$kind($i) eq "dccp"} {
        $loss($i) set enable_ 0
        after_handshake $i
    }
}

# A connection of DCCP does not survive the loss of the third packet of its handshake.
proc after_handshake {i} {
    global ns loss arrivals
    if {[$arrivals($i) set pdepartures_] >= 3} {
        $loss($i) set enable_ 1
    } else {
        $ns at [expr {[$ns now] + 0.001}] "after_handshake $i"
    }
}

# ---------------------------------------------------------------- flows

proc endpoints {i from from_settings to to_settings} {
    global ns sender receiver source sink app
    set source($i) [new $from]
    set sink($i) [new $to]
    foreach {name value} $from_settings {$source($i) set $name $value}
    foreach {name value} $to_settings {$sink($i) set $name $value}
    $source($i) set fid_ $i
    $ns attach-agent $sender($i) $source($i)
    $ns attach-agent $receiver($i) $sink($i)
    $ns connect $source($i) $sink($i)
    set app($i) [new Application/FTP]
    $app($i) attach-agent $source($i)
}

# One of ns-2's own TCPs.
proc tcp {i agent settings receiver settings_of_receiver} {
    global kind
    set kind($i) tcp
    endpoints $i $agent $settings $receiver $settings_of_receiver
}

# Datagrams under CCID 2.
proc dccp {i settings} {
    global ns kind sink
    set kind($i) dccp
    endpoints $i Agent/DCCP/TCPlike $settings Agent/DCCP/TCPlike $settings
    $ns at 0 "$sink($i) listen"
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
    global app
    $app($i) start
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
    global ns source
    set srtt_s [smoothed_rtt_s $i]
    if {$srtt_s > 0} {
        set k_s [expr {$reference_s + max($srtt_s - $empty_s, 0)}]
        $source($i) set windowConstant_ [expr {pow($k_s, -$power)}]
    }
    $ns at [expr {[$ns now] + 0.01}] "follow_queue $i $power $reference_s $empty_s"
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
# and smoothed RTT; then what the bottleneck has sent and dropped, and how much waits there.
proc poll {k} {
    global ns every_s polls_wanted polls_file kind source sink arrivals bottleneck
    for {set i 0} {$i < [array size kind]} {incr i} {
        set arrived [$arrivals($i) set pdepartures_]
        if {$kind($i) eq "dccp"} {
            # all but the request and the sender's own acknowledgements
            lappend row 0 [expr {$arrived - 1 - [$source($i) set num_ack_pkt_]}]
        } else {
            lappend row [$sink($i) set bytes_] $arrived
        }
        lappend row [$source($i) set cwnd_] [$source($i) set ssthresh_] [smoothed_rtt_s $i]
    }
    lappend row [$bottleneck set pdepartures_] [$bottleneck set pdrops_] [$bottleneck set pkts_]
    puts $polls_file $row
    if {$k == $polls_wanted} {
        exit 0
    }
    incr k
    $ns at [expr {$k * $every_s}] "poll $k"
}

proc simulate {every polls} {
    global ns every_s polls_wanted polls_file
    set every_s $every
    set polls_wanted $polls
    set polls_file [open polls w]
    $ns at $every_s "poll 1"
    $ns run
}
