// Goal: an output is given to the caller complete and as expected, or not at all, however its connection behaves.
// Method: a server in this process that sends chosen bytes, types and lengths, and cuts its responses in the middle.
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { image } from '../../../test/fixtures/images.js';
import { Darkroom, TransferError, type Output } from '../src/index.js';

describe('receiving an output', () => {
  let server: Server;
  let answer: (response: ServerResponse, asked: number) => void;
  let asked: number;
  let png: Uint8Array;
  const darkroom = new Darkroom({ baseUrl: 'http://127.0.0.1:1', apiKey: 'svc_live_secret' });

  before(async () => {
    png = await image('png');
    server = createServer((request, response) => {
      expect(request.headers).not.to.have.property('authorization');
      asked += 1;
      answer(response, asked);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => server.close());
  beforeEach(() => {
    asked = 0;
  });

  const output = (kind: Output['media_type'] = 'image'): Output => ({
    media_id: 'a',
    media_type: kind,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  });
  const refused = async (kind?: Output['media_type']): Promise<string> => {
    const error = await darkroom.download(output(kind)).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(TransferError);
    expect(asked).to.equal(1);
    return (error as TransferError).reason;
  };

  it('refuses an address that is gone, another type and other bytes, at once', async () => {
    answer = (response) => response.writeHead(404).end();
    expect(await refused()).to.equal('its address answered with status 404');
    asked = 0;
    answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    expect(await refused()).to.equal('it has the type text/html and not that of an output of the kind image');
    asked = 0;
    answer = (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('<html>');
    expect(await refused()).to.equal('its bytes are not those of image/png');
    asked = 0;
    answer = (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(png);
    expect(await refused('video')).to.include('image/png');
  });

  it('begins anew when the connection is cut in the middle, or the store is busy', async () => {
    answer = (response, times) => {
      if (times === 1) {
        response.writeHead(503, { 'retry-after': '0' }).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': png.byteLength });
      if (times > 2) response.end(png);
      else response.write(png.subarray(0, 40), () => response.destroy());
    };
    const { bytes, filename, mediaType } = await darkroom.download(output());
    expect([filename, mediaType, asked]).to.deep.equal(['a.png', 'image/png', 3]);
    expect(Buffer.from(bytes).equals(png)).to.equal(true);
  });

  it('throws what the receiver throws, and does not ask again', async () => {
    answer = (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(png);
    const reason = new Error('the disk is full');
    const receive = async (): Promise<never> => {
      throw reason;
    };
    expect(await darkroom.receive(output(), receive).catch((error: unknown) => error)).to.equal(reason);
    expect(asked).to.equal(1);
  });
});
