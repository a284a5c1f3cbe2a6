// The stretches that the packet view offers, as JSON.
globalThis.tcpfair = { dom: { make() {}, newId() {}, short: String } };
require(process.argv[2]);
process.stdout.write(JSON.stringify(globalThis.tcpfair.packets.EXAMPLES));
