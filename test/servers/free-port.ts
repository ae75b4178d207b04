import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below what systems give to outgoing connections (32,768 and up on Linux): a server that is down must find its port
 * free when it comes back, and a client that connects meanwhile must not end up connected to itself.
 */
const LOWEST = 16_000;
const HIGHEST = 27_000;
const TRIES = 200;

/** A port of this machine on which nothing listens. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`None of ${TRIES} ports that were tried is free.`);
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
