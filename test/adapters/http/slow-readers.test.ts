/*
 * Goal: an answer whose connection ends before its reader has come to the last piece is read to its end.
 * Method: a real server that sends answers of every framing and closes; the reader begins when all has been sent. Whatever a
 * connection throws where nobody catches it fails the run.
 */
import { expect } from 'chai';
import { RawServer } from './raw-server.js';
import { errorOf, get, localClient, post } from './client.js';

const BODIES = [300 * 1024, 320 * 1024 + 1, 384 * 1024, 1024 * 1024].map((size) => Buffer.alloc(size, 'x'));

const FRAMINGS: Readonly<Record<string, (body: Buffer) => readonly (string | Buffer)[]>> = {
  'a length': (body) => [`Content-Length: ${body.byteLength}\r\nConnection: close\r\n\r\n`, body],
  'a length, on a connection to be kept': (body) => [`Content-Length: ${body.byteLength}\r\n\r\n`, body],
  'chunks': (body) => [
    'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
    ...piecesOf(body).flatMap((piece) => [`${piece.byteLength.toString(16)}\r\n`, piece, '\r\n']),
    '0\r\n\r\n',
  ],
  'the end of the connection': (body) => ['Connection: close\r\n\r\n', body],
};

const CUT_SHORT: Readonly<Record<string, (body: Buffer) => readonly (string | Buffer)[]>> = {
  'a length': (body) => [`Content-Length: ${body.byteLength + 1}\r\nConnection: close\r\n\r\n`, body],
  'chunks': (body) => [
    'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n',
    `${body.byteLength.toString(16)}\r\n`,
    body,
    '\r\n',
  ],
};

describe('a reader that is slower than its server', () => {
  for (const [how, send] of Object.entries({ POST: post, GET: get })) {
    for (const [framing, partsOf] of Object.entries(FRAMINGS)) {
      it(`reads the answer to a ${how} with ${framing} to its end`, async () => {
        for (const body of BODIES) expect(await readLate(send, partsOf(body))).to.equal(body.byteLength);
      });
    }

    for (const [framing, partsOf] of Object.entries(CUT_SHORT)) {
      it(`is told that the answer to a ${how} with ${framing} is cut short`, async () => {
        for (const body of BODIES)
          expect(await errorOf(readLate(send, partsOf(body)))).to.have.property('kind', 'unknown-outcome');
      });
    }
  }

  it('gets bytes that came one at a time in few pieces, and a whole body in one buffer', async () => {
    const count = 200_000;
    const chunks = Buffer.alloc(6 * count, '1\r\nx\r\n');
    const server = await RawServer.open(({ socket }) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        socket.write(chunks);
        socket.end('0\r\n\r\n');
      });
    });
    const client = localClient({ limits: { maxBodyBytes: count } });
    let [pieces, bytes] = [0, 0];
    for await (const piece of (await get(client, server.url)).body()) {
      pieces += 1;
      bytes += piece.byteLength;
    }
    expect(bytes).to.equal(count);
    expect(pieces).to.be.below(count / 100);
    const whole = await (await get(client, server.url)).bytes();
    expect(whole.byteLength).to.equal(count);
    expect(whole.buffer.byteLength).to.be.at.most(4 * count);
    await Promise.all([client.close(), server.close()]);
  });
});

/** How many bytes of the body were read, after the server has sent all of it and closed the connection. */
async function readLate(send: typeof get, parts: readonly (string | Buffer)[]): Promise<number> {
  const server = await RawServer.open(({ socket }) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n');
      for (const part of parts) socket.write(part);
      socket.end();
    });
  });
  const client = localClient({ limits: { maxBodyBytes: 2 * 1024 * 1024 } });
  try {
    const answer = await send(client, server.url);
    const { socket } = server.connections.at(-1)!;
    for (let turns = 0; turns < 200 || !socket.writableFinished; turns += 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    let byteLength = 0;
    for await (const piece of answer.body()) byteLength += piece.byteLength;
    return byteLength;
  } finally {
    await Promise.all([client.close(), server.close()]);
  }
}

function piecesOf(body: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.byteLength; at += 64 * 1024) pieces.push(body.subarray(at, at + 64 * 1024));
  return pieces;
}
