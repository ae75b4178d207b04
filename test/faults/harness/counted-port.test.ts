/**
 * Goal: what stands between a process and its link changes nothing and counts what is sent.
 * Method: an echo behind it, which is sent something, ended, and reset.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { CountedPort } from './counted-port.js';

describe('a counted port', () => {
  let echo: Server;
  let behind: Socket[];
  let counted: CountedPort;

  beforeEach(async () => {
    behind = [];
    echo = createServer((socket) => {
      behind.push(socket);
      socket.on('error', () => undefined);
      socket.pipe(socket);
    });
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    counted = await CountedPort.open((echo.address() as AddressInfo).port);
  });

  afterEach(async () => {
    await counted.close();
    for (const socket of behind) socket.destroy();
    echo.close();
  });

  async function said(client: Socket, text: string): Promise<string> {
    client.write(text);
    const [data] = (await once(client, 'data')) as [Buffer];
    return data.toString();
  }

  it('passes on what is sent and answered, and counts the first', async () => {
    const client = connect({ host: '127.0.0.1', port: counted.port });
    expect(await said(client, 'one')).to.equal('one');
    expect(await said(client, 'two')).to.equal('two');
    expect(counted.received).to.equal(2);
    client.end();
    await once(client, 'close');
  });

  it('passes on a reset as one', async () => {
    const client = connect({ host: '127.0.0.1', port: counted.port });
    await said(client, 'one');
    behind[0]?.resetAndDestroy();
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).to.equal('ECONNRESET');
  });
});
