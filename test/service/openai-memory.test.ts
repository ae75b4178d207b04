import { expect } from 'chai';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import {
  peakResidentBytes,
  resetPeakResidentBytes,
  residentBytes,
  tellsResidentMemory,
} from '../fixtures/resident-memory.js';
import { GENERATIONS, PICTURE } from '../fronts/openai/openai-harness.js';

// Goal: pictures become base64 while they are sent, so that large answers to many clients at once take little memory; and
// a client that waits costs little more than its connection.
// Method: a server in a process of its own. Its resident memory is read from /proc while eight clients read answers with
// four pictures of 10 MB each. It counts the bytes that it holds, without garbage, with 5,000 idle connections on which one
// request was sent, and with as many that wait: here, and on the first interface as the control.

const MIB = 1024 * 1024;
const [RESPONSES, PICTURES, PICTURE_BYTES] = [8, 4, 10 * MIB];
const MOST_BYTES = 60 * MIB;
/** The limit of `Prefer: wait`. */
const [WAITS, MOST_WAITING_BYTES] = [5_000, 50 * MIB];

describe('the memory of the OpenAI-compatible API', () => {
  let child: ChildProcess;
  let server: { readonly origin: string; readonly secret: string };

  before(async function () {
    if (!tellsResidentMemory) this.skip();
    this.timeout(60_000);
    child = fork(fileURLToPath(new URL('openai-memory-subject.js', import.meta.url)));
    [server] = (await once(child, 'message')) as [typeof server];
  });
  after(() => {
    if (child.connected) child.disconnect();
  });

  /** The bytes that the process holds without garbage, once as many requests wait. */
  async function held(waits: number): Promise<number> {
    child.send(waits);
    const [bytes] = (await once(child, 'message')) as [number];
    return bytes;
  }

  /** The length of the answer to a request that repeats the one that made the pictures. */
  async function read(): Promise<number> {
    const response = await fetch(server.origin + GENERATIONS, {
      method: 'POST',
      headers: {
        'Authorization': `Bearer ${server.secret}`,
        'Content-Type': 'application/json',
        'x-stainless-retry-count': '1',
      },
      body: JSON.stringify({ ...PICTURE, n: PICTURES }),
    });
    let byteSize = 0;
    for await (const chunk of response.body ?? []) byteSize += (chunk as Uint8Array).byteLength;
    expect([response.status, Number(response.headers.get('content-length'))]).to.deep.equal([200, byteSize]);
    return byteSize;
  }

  it(`is less than ${MOST_BYTES / MIB} MB for ${RESPONSES} answers with large pictures at once`, async () => {
    const pid = child.pid ?? 0;
    await held(0);
    const before = residentBytes(pid);
    resetPeakResidentBytes(pid);
    const sizes = await Promise.all(Array.from({ length: RESPONSES }, read));
    for (const size of sizes) expect(size).to.be.above(PICTURES * Math.ceil(PICTURE_BYTES / 3) * 4);
    const added = peakResidentBytes(pid) - before;
    expect(added / MIB, 'MB added').to.be.below(MOST_BYTES / MIB);
  }).timeout(60_000);

  it(`is less than ${MOST_WAITING_BYTES / MIB} MB for ${WAITS} requests that wait, above their connections`, async () => {
    // The generations exist before: a first client has asked for each of them, and has left.
    const ids: string[] = [];
    await inTurns(async (seed) => {
      const socket = await opened();
      ids[seed] = /^darkroom-generation-id: (\S+)/im.exec(await begin(socket, createOf(seed)))?.[1] ?? '';
      socket.destroy();
    });
    const waits = await addedByWaits(async (socket, index) => void (await begin(socket, createOf(index))));
    const control = await addedByWaits(async (socket, index) => {
      socket.write(head('GET', `/api/v1/developer/generations/${ids[index]}`, 'Prefer: wait=60\r\n'));
    });
    expect(waits / MIB, 'MB added').to.be.below(MOST_WAITING_BYTES / MIB);
    expect(waits / control, 'for each MB of `Prefer: wait`').to.be.below(1.3);
  }).timeout(240_000);

  /** The bytes that the process holds more while as many requests wait as it has connections. */
  async function addedByWaits(wait: (socket: Socket, index: number) => Promise<void>): Promise<number> {
    const sockets: Socket[] = [];
    await inTurns(async () => {
      const socket = await opened();
      await begin(socket, head('GET', '/v1/models'));
      sockets.push(socket);
    });
    const before = await held(0);
    await inTurns((index) => wait(sockets[index] as Socket, index));
    const added = (await held(WAITS)) - before;
    for (const socket of sockets) socket.destroy();
    return added;
  }

  async function opened(): Promise<Socket> {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }

  function head(method: string, path: string, more = ''): string {
    return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.secret}\r\n${more}\r\n`;
  }

  /** A request for one picture, which no other request is equal to. */
  function createOf(seed: number): string {
    const body = JSON.stringify({ ...PICTURE, seed });
    return head('POST', GENERATIONS, `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`) + body;
  }

  /** Sends a request, and returns the beginning of its response. */
  async function begin(socket: Socket, request: string): Promise<string> {
    socket.write(request);
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    const text = bytes.toString();
    expect(text.split('\r\n')[0]).to.equal('HTTP/1.1 200 OK');
    return text;
  }
});

/** Does the work for each wait, some of them at once. */
async function inTurns(work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const some = async (): Promise<void> => {
    while (next < WAITS) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: 50 }, some));
}
