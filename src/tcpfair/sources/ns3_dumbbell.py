"""Run dumbbells in ns-3. A stand-alone program: it does not import tcpfair and runs in a Python with ns-3.

    python -I ns3_dumbbell.py --version
    python -I ns3_dumbbell.py REQUEST.json FOLDER

The request is a list of runs (tcpfair/sources/ns3.py writes it: every value is resolved and has ns-3's name); run k
leaves ``samples-k.csv``, ``link-k.csv`` and ``events-k.csv`` in the folder. Each run is a forked child, so that runs do
not share ns-3's global state, and the headers are read once.

``ns3`` is the wheel from PyPI. Its own ``ns`` module loads all of ns-3 (10 s); here four libraries are loaded and the
simulation is C++ that cppyy compiles at run time (2 s), because callbacks into Python would cost more than the packets.
``-I`` is required: without it ``import ns3`` would find the module next to this file.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1  # prctl(2)
MODULES = ("core", "network", "internet", "point-to-point")
# run before the first child starts: code is compiled when it is first called, and children inherit it
WARM_UP = {
    "link": {
        **{"capacityBps": 1e7, "serviceS": 1.2e-3, "segment": 1448, "buffer": 10, "lossRate": 0.01, "jitterS": 1e-3},
        **{"durationS": 1.0, "sampleS": 0.1},
    },
    "flows": [
        {
            "flow": {
                **{"rttS": 0.01, "stopS": 0.9, "accessBps": 1e8, "accessQueue": 100, "accessJitterS": 1e-4},
                **{"sizePkts": 1e6, "congestionControl": "ns3::TcpNewReno", "recovery": "ns3::TcpPrrRecovery"},
            },
            "socket": {"SegmentSize": "1448", "MinRto": "200ms"},
            "congestion_control": {},
        }
    ],
}

CPP = r"""
#include "ns3/config.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/error-model.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/object-factory.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-rx-buffer.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tcpfair
{
using namespace ns3;
using Attributes = std::vector<std::pair<std::string, std::string>>;

constexpr double FAST_BPS = 1e12;      // of links that do not limit
constexpr uint32_t LONG_QUEUE = 1000000; // packets
constexpr uint16_t PORT = 5000;
// data waiting in the sending socket, segments: refilled below LOW, so that a flow that stops has little left to send
constexpr uint32_t LOW = 2;
constexpr uint32_t REFILL = 8;

// A link whose first device's packets get a random extra delay, and stay in order.
class JitterChannel : public PointToPointChannel
{
  public:
    double jitterS = 0;
    Ptr<UniformRandomVariable> uniform;

    bool TransmitStart(Ptr<const Packet> packet, Ptr<PointToPointNetDevice> from, Time service) override
    {
        if (jitterS == 0 || from != GetSource(0))
        {
            return PointToPointChannel::TransmitStart(packet, from, service);
        }
        const Time now = Simulator::Now();
        lastArrival = Max(lastArrival, now + service + GetDelay() + Seconds(uniform->GetValue(0, jitterS)));
        Ptr<PointToPointNetDevice> to = GetDestination(0);
        Simulator::ScheduleWithContext(
            to->GetNode()->GetId(), lastArrival - now, &PointToPointNetDevice::Receive, to, packet->Copy());
        return true;
    }

  private:
    Time lastArrival;
};

struct Event
{
    double t;
    size_t flow;
    const char* kind;
    double before;
    double after;
};

// One flow: its sending socket, kept supplied with data, and its receiving socket.
struct Flow
{
    // settings
    size_t number = 0;
    double rttS = 0;
    double startS = 0;
    double stopS = 0;
    double accessBps = 0; // 0: not limiting
    uint32_t accessQueue = 0;
    double accessJitterS = 0;
    double sizePkts = 0;
    std::string congestionControl;
    std::string recovery;
    Attributes congestionControlAttributes;
    Attributes socketAttributes;

    // state
    uint32_t segment = 0;
    uint64_t bytesToWrite = 0;
    uint64_t delivered = 0;
    double cwnd = 0;
    double ssthresh = std::numeric_limits<double>::infinity();
    double srttS = 0;
    SequenceNumber32 highest;
    Ptr<TcpSocketBase> sender;
    Ptr<TcpSocketBase> receiver;
    std::deque<Event>* events = nullptr;

    void Set(const std::string& name, const std::string& value)
    {
        socketAttributes.emplace_back(name, value);
    }

    void SetCongestionControl(const std::string& name, const std::string& value)
    {
        congestionControlAttributes.emplace_back(name, value);
    }

    Ptr<TcpSocketBase> MakeSocket(Ptr<Node> node) const
    {
        auto socket = DynamicCast<TcpSocketBase>(Socket::CreateSocket(node, TcpSocketFactory::GetTypeId()));
        for (const auto& [name, value] : socketAttributes)
        {
            socket->SetAttribute(name, StringValue(value));
        }
        return socket;
    }

    void Install(Ptr<Node> from, Ptr<Node> to, Ipv4Address address)
    {
        sender = MakeSocket(from);
        ObjectFactory factory;
        factory.SetTypeId(congestionControl);
        for (const auto& [name, value] : congestionControlAttributes)
        {
            factory.Set(name, StringValue(value));
        }
        sender->SetCongestionControlAlgorithm(factory.Create<TcpCongestionOps>());
        ObjectFactory recoveryFactory;
        recoveryFactory.SetTypeId(recovery);
        sender->SetRecoveryAlgorithm(recoveryFactory.Create<TcpRecoveryOps>());
        sender->SetConnectCallback(MakeCallback(&Flow::OnConnect, this), MakeNullCallback<void, Ptr<Socket>>());
        sender->SetSendCallback(MakeCallback(&Flow::OnRoom, this));
        sender->SetDataSentCallback(MakeCallback(&Flow::OnRoom, this));
        sender->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::OnWindow, this));
        sender->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Flow::OnThreshold, this));
        sender->TraceConnectWithoutContext("RTT", MakeCallback(&Flow::OnRtt, this));
        sender->TraceConnectWithoutContext("HighestSequence", MakeCallback(&Flow::OnHighest, this));
        sender->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::OnState, this));

        auto listener = MakeSocket(to);
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Flow::OnAccept, this));
        const Address peer = InetSocketAddress(address, PORT);
        Simulator::Schedule(Seconds(startS), [this, peer]() { sender->Connect(peer); });
    }

    void OnConnect(Ptr<Socket>)
    {
        connected = true;
        Fill();
    }

    void OnRoom(Ptr<Socket>, uint32_t)
    {
        Fill();
    }

    void Fill()
    {
        if (!connected || Simulator::Now().GetSeconds() >= stopS)
        {
            return;
        }
        // a negative difference: all that was written has been sent
        const int32_t waiting = sender->GetTxBuffer()->TailSequence() - highest;
        if (bytesToWrite > 0 && waiting < static_cast<int32_t>(LOW * segment))
        {
            const uint64_t bytes = std::min<uint64_t>(bytesToWrite, REFILL * segment);
            if (sender->Send(Create<Packet>(bytes), 0) > 0)
            {
                bytesToWrite -= bytes;
            }
        }
    }

    void OnAccept(Ptr<Socket> socket, const Address&)
    {
        receiver = DynamicCast<TcpSocketBase>(socket);
        receiver->SetRecvCallback(MakeCallback(&Flow::OnData, this));
    }

    void OnData(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            delivered += packet->GetSize();
        }
    }

    // first arrivals: what was delivered and what waits behind holes
    uint64_t Received() const
    {
        return delivered + (receiver ? receiver->GetRxBuffer()->Size() : 0);
    }

    void OnWindow(uint32_t, uint32_t bytes)
    {
        // some of ns-3's reductions go below zero in 32 bits (TcpYeah's does); what follows would be no result
        if (bytes > std::numeric_limits<uint32_t>::max() / 2)
        {
            throw std::overflow_error("flow " + std::to_string(number) + ": " + congestionControl +
                                      "'s window overflowed at " + std::to_string(Simulator::Now().GetSeconds()) + " s");
        }
        cwnd = bytes / double(segment);
    }

    void OnThreshold(uint32_t, uint32_t bytes)
    {
        ssthresh = bytes == std::numeric_limits<uint32_t>::max() ? std::numeric_limits<double>::infinity()
                                                                  : bytes / double(segment);
    }

    void OnRtt(Time, Time value)
    {
        srttS = value.GetSeconds();
    }

    void OnHighest(SequenceNumber32, SequenceNumber32 value)
    {
        highest = value;
    }

    void OnState(TcpSocketState::TcpCongState_t from, TcpSocketState::TcpCongState_t to)
    {
        const bool isLoss = to == TcpSocketState::CA_RECOVERY;
        const bool isTimeout = to == TcpSocketState::CA_LOSS;
        const bool isEnd = from == TcpSocketState::CA_RECOVERY && to == TcpSocketState::CA_OPEN;
        if (isLoss || isTimeout || isEnd)
        {
            const char* kind = isLoss ? "loss" : isTimeout ? "rto" : "recovery_end";
            events->push_back({Simulator::Now().GetSeconds(), number, kind, cwnd, 0});
            // the state changes amid the reduction: what it comes to is known when this event is over
            Simulator::ScheduleNow([this, isLoss, event = events->size() - 1]() {
                (*events)[event].after = isLoss ? ssthresh : cwnd;
            });
        }
    }

  private:
    bool connected = false;
};

// The bottleneck between two routers and a sender and a receiver per flow.
class Dumbbell
{
  public:
    uint32_t seed = 1;
    uint64_t run = 0;
    double capacityBps = 0;
    double serviceS = 0; // of a full packet at the bottleneck
    uint32_t segment = 0;
    uint32_t buffer = 0;
    double lossRate = 0;
    double jitterS = 0;
    double durationS = 0;
    double sampleS = 0;

    Flow& Add()
    {
        flows.emplace_back();
        flows.back().number = flows.size();
        return flows.back();
    }

    // Free what a run left behind in ns-3.
    static void Forget()
    {
        Simulator::Destroy();
    }

    void Run(const std::string& folder, const std::string& name)
    {
        RngSeedManager::SetSeed(seed);
        RngSeedManager::SetRun(run);
        samples.open(folder + "/samples-" + name + ".csv");
        link.open(folder + "/link-" + name + ".csv");
        samples.precision(12);
        link.precision(12);
        samples << "flow_id,sample,delivered_bytes,received_bytes,cwnd_pkts,ssthresh_pkts,srtt_s\n";
        link << "sample,forwarded_pkts,dropped_pkts,queue_pkts\n";
        Build();
        Simulator::Schedule(Seconds(sampleS), &Dumbbell::Sample, this, 1);
        Simulator::Stop(Seconds(durationS) + NanoSeconds(1));
        Simulator::Run();

        std::ofstream out(folder + "/events-" + name + ".csv");
        out.precision(12);
        out << "flow_id,t_s,kind,cwnd_before,cwnd_after\n";
        for (const auto& e : events)
        {
            out << e.flow << ',' << e.t << ',' << e.kind << ',' << e.before << ',' << e.after << '\n';
        }
        samples.close();
        link.close();
        out.close();
        if (!samples || !link || !out)
        {
            NS_FATAL_ERROR("cannot write to " << folder);
        }
    }

  private:
    struct Port
    {
        Ptr<PointToPointNetDevice> device;
        uint32_t interface;
    };

    static Port AddDevice(Ptr<Node> node, double bps, uint32_t queuePkts, Ipv4Address address)
    {
        auto device = CreateObject<PointToPointNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(static_cast<uint64_t>(std::llround(bps))));
        device->SetMtu(65535);
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, queuePkts));
        device->SetQueue(queue);
        node->AddDevice(device);
        auto ip = node->GetObject<Ipv4>();
        const uint32_t interface = ip->AddInterface(device);
        ip->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask("/30")));
        ip->SetUp(interface);
        return {device, interface};
    }

    Ptr<JitterChannel> Connect(Ptr<PointToPointNetDevice> from, Ptr<PointToPointNetDevice> to, double delayS, double jitter)
    {
        auto channel = CreateObject<JitterChannel>();
        channel->SetAttribute("Delay", TimeValue(Seconds(delayS)));
        channel->jitterS = jitter;
        channel->uniform = CreateObject<UniformRandomVariable>();
        channel->uniform->SetStream(stream++);
        from->Attach(channel);
        to->Attach(channel);
        return channel;
    }

    void Build()
    {
        NodeContainer routers(2);
        NodeContainer from(flows.size());
        NodeContainer to(flows.size());
        Ipv4StaticRoutingHelper routing;
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(routing);
        stack.Install(routers);
        stack.Install(from);
        stack.Install(to);
        const auto routes = [&](Ptr<Node> node) { return routing.GetStaticRouting(node->GetObject<Ipv4>()); };

        // only the data's direction is limited: ACKs neither wait nor are lost, as in the engine
        const Port left = AddDevice(routers.Get(0), capacityBps, buffer, Ipv4Address("10.0.0.1"));
        const Port right = AddDevice(routers.Get(1), FAST_BPS, LONG_QUEUE, Ipv4Address("10.0.0.2"));
        Connect(left.device, right.device, 0, 0);
        routes(routers.Get(0))->AddNetworkRouteTo("10.2.0.0", "255.255.0.0", "10.0.0.2", left.interface);
        routes(routers.Get(1))->AddNetworkRouteTo("10.1.0.0", "255.255.0.0", "10.0.0.1", right.interface);
        bottleneck = left.device;
        bottleneck->GetQueue()->TraceConnectWithoutContext("Enqueue", MakeCallback(&Dumbbell::OnEnqueue, this));
        bottleneck->GetQueue()->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Dumbbell::OnDrop, this));
        bottleneck->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Dumbbell::OnTransmit, this));
        if (lossRate > 0)
        {
            auto loss = CreateObject<RateErrorModel>();
            loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            loss->SetRate(lossRate);
            loss->AssignStreams(stream++);
            right.device->SetReceiveErrorModel(loss);
        }

        for (size_t i = 0; i < flows.size(); i++)
        {
            Flow& flow = flows[i];
            const auto address = [i](const char* base, uint32_t host) {
                return Ipv4Address(Ipv4Address(base).Get() + 4 * i + host);
            };
            const bool limited = flow.accessBps > 0;
            const Port source = AddDevice(from.Get(i),
                                          limited ? flow.accessBps : FAST_BPS,
                                          limited ? flow.accessQueue : LONG_QUEUE,
                                          address("10.1.0.0", 1));
            const Port in = AddDevice(routers.Get(0), FAST_BPS, LONG_QUEUE, address("10.1.0.0", 2));
            Connect(source.device, in.device, 0, limited ? flow.accessJitterS : 0);
            // the whole of the propagation delay is between the bottleneck and the receiver
            const Port out = AddDevice(routers.Get(1), FAST_BPS, LONG_QUEUE, address("10.2.0.0", 1));
            const Port sink = AddDevice(to.Get(i), FAST_BPS, LONG_QUEUE, address("10.2.0.0", 2));
            Connect(out.device, sink.device, flow.rttS / 2, jitterS);
            routes(from.Get(i))->SetDefaultRoute(address("10.1.0.0", 2), source.interface);
            routes(to.Get(i))->SetDefaultRoute(address("10.2.0.0", 1), sink.interface);

            flow.segment = segment;
            flow.events = &events;
            const double bytes = flow.sizePkts * segment;
            flow.bytesToWrite = bytes < 1e18 ? static_cast<uint64_t>(bytes) : UINT64_MAX;
            flow.Install(from.Get(i), to.Get(i), address("10.2.0.0", 2));
        }
    }

    bool IsData(Ptr<const Packet> packet) const
    {
        return packet->GetSize() >= segment;
    }

    void OnEnqueue(Ptr<const Packet> packet)
    {
        forwarded += IsData(packet);
    }

    void OnDrop(Ptr<const Packet> packet)
    {
        dropped += IsData(packet);
    }

    void OnTransmit(Ptr<const Packet> packet)
    {
        if (IsData(packet))
        {
            transmitEnd = Simulator::Now() + Seconds(serviceS);
        }
    }

    void Sample(int k)
    {
        for (const auto& flow : flows)
        {
            samples << flow.number << ',' << k << ',' << flow.delivered << ',' << flow.Received() << ',' << flow.cwnd
                    << ',' << flow.ssthresh << ',' << flow.srttS << '\n';
        }
        // packets that wait, and what is left of the one on the wire
        const double left = std::max((transmitEnd - Simulator::Now()).GetSeconds(), 0.0) / serviceS;
        link << k << ',' << forwarded << ',' << dropped << ',' << bottleneck->GetQueue()->GetNPackets() + left << '\n';
        Simulator::Schedule(Seconds((k + 1) * sampleS) - Simulator::Now(), &Dumbbell::Sample, this, k + 1);
    }

    std::deque<Flow> flows; // stays in place: callbacks point into it
    std::deque<Event> events;
    Ptr<PointToPointNetDevice> bottleneck;
    Time transmitEnd;
    uint64_t forwarded = 0;
    uint64_t dropped = 0;
    int64_t stream = 1;
    std::ofstream samples;
    std::ofstream link;
};
} // namespace tcpfair
"""


def load():
    """The class Dumbbell, compiled against the wheel's headers and libraries."""
    import cppyy

    root = Path(importlib.util.find_spec("ns3").submodule_search_locations[0])
    cppyy.add_include_path(str(root / "include"))
    for module in MODULES:
        (library,) = [path for path in root.glob("lib*/libns3*.so") if path.name.endswith(f"-{module}.so")]
        cppyy.load_library(str(library))
    if not cppyy.cppdef(CPP):
        raise RuntimeError("the simulation does not compile against this version of ns-3")
    return cppyy.gbl.tcpfair.Dumbbell


def simulate(make, request: dict, folder: str, name: str) -> None:
    """One run; its tables go to ``folder``."""
    dumbbell = make()
    for field, value in request["link"].items():
        setattr(dumbbell, field, value)
    for wanted in request["flows"]:
        flow = dumbbell.Add()
        for field, value in wanted["flow"].items():
            setattr(flow, field, value)
        for attribute, value in wanted["socket"].items():
            flow.Set(attribute, value)
        for attribute, value in wanted["congestion_control"].items():
            flow.SetCongestionControl(attribute, value)
    dumbbell.Run(folder, name)


def end_with_parent() -> None:
    """End a long run when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def in_child(make, request: dict, folder: str, name: str) -> int:
    """Run in a separate process; return its exit status (negative: the signal that ended it)."""
    child = os.fork()
    if child == 0:
        # Python would wait for the end of the simulation, and cppyy print stacks below ns-3's own message
        for number in (signal.SIGINT, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
            signal.signal(number, signal.SIG_DFL)
        end_with_parent()
        try:
            simulate(make, request, folder, name)
            status = 0
        except Exception as error:
            print(error, file=sys.stderr)
            status = 1
        sys.stderr.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(importlib.metadata.version("ns3"))
        return 0
    request, folder = arguments
    end_with_parent()
    make = load()
    simulate(make, WARM_UP, folder, "warm-up")
    make.Forget()
    for k, run in enumerate(json.loads(Path(request).read_text())):
        status = in_child(make, run, folder, str(k))
        if status != 0:
            print(f"run {k} ended with status {status}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
