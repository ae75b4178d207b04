// Goal: a connection on which nothing is sent after an answer is kept for as long as the keep-alive timeout says, told in
// the answer, and is then closed; how long an answer may stand still is another matter.
// Method: raw sockets against servers with short timeouts; how long a connection was kept has a lower bound alone.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { serve, type RunningServer } from './rest-client.js';

const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
/** Timers count whole milliseconds, from one that has begun. */
const ROUNDING_MS = 5;

describe('REST keeps connections', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  let socket: Socket;

  beforeEach(async () => {
    harness = await openServiceHarness();
  });
  afterEach(async () => {
    socket.destroy();
    await running.server.close(100);
    await harness.close();
  });

  async function open(limits: { readonly keepAliveTimeoutMs: number; readonly idleTimeoutMs: number }): Promise<void> {
    running = await serve(harness, { limits });
    socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
  }

  async function answer(): Promise<string> {
    socket.write(REQUEST);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString('latin1');
  }

  async function closedAfterMs(): Promise<number> {
    const from = performance.now();
    await once(socket.resume(), 'end');
    return performance.now() - from;
  }

  it('for the keep-alive timeout, which it tells, and not for the idle timeout', async () => {
    await open({ keepAliveTimeoutMs: 1_000, idleTimeoutMs: 3_600_000 });
    expect(await answer()).to.match(/^Keep-Alive: timeout=1\r$/m);
    expect(await closedAfterMs()).to.be.at.least(1_000 - ROUNDING_MS);
  });

  it('for the keep-alive timeout where the idle timeout is shorter', async () => {
    await open({ keepAliveTimeoutMs: 1_000, idleTimeoutMs: 100 });
    await answer();
    expect(await closedAfterMs()).to.be.at.least(1_000 - ROUNDING_MS);
  });

  it('for the whole of it after each answer', async () => {
    await open({ keepAliveTimeoutMs: 600, idleTimeoutMs: 3_600_000 });
    const from = performance.now();
    for (let count = 0; count < 4; count += 1) {
      await answer();
      await new Promise((resolve) => {
        setTimeout(resolve, 200);
      });
    }
    await answer();
    await closedAfterMs();
    expect(performance.now() - from).to.be.at.least(800 + 600 - 5 * ROUNDING_MS);
  });
});
