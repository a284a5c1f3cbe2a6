// The stretches that the packet view offers, as JSON.
globalThis.tcpfair = {};
for (const name of ["dom.js", "measures.js", "packets.js"]) require(`../../src/tcpfair/web/static/${name}`);
process.stdout.write(JSON.stringify(globalThis.tcpfair.packets.EXAMPLES));
