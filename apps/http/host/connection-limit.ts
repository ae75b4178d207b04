import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientAddresses } from './client-addresses.js';

export interface ConnectionLimit {
  readonly addresses: ClientAddresses;
  readonly perAddress: number;
  readonly onRefused: () => void;
}

/** Closes what one client opens beyond so many connections, so that it cannot take all there are. */
export function limitConnections(server: Server, { addresses, perAddress, onRefused }: ConnectionLimit): void {
  const countByClient = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    if (addresses.isProxy(socket.remoteAddress)) return;
    const client = addresses.ofPeer(socket.remoteAddress);
    const count = countByClient.get(client) ?? 0;
    if (count >= perAddress) {
      onRefused();
      socket.destroy();
      return;
    }
    countByClient.set(client, count + 1);
    socket.once('close', () => {
      const left = (countByClient.get(client) ?? 0) - 1;
      if (left > 0) countByClient.set(client, left);
      else countByClient.delete(client);
    });
  });
}
