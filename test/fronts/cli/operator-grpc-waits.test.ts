// Goal: an operator's command with --grpc waits for a server as long as the server asks, says so, and never waits
// forever.
// Method: a listener that sends nothing, and a server that says when to retry; commands in this process, and one in a
// process of its own, which open connections must not keep alive.
import { create } from '@bufbuild/protobuf';
import { type sendUnaryData, Server } from '@grpc/grpc-js';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { GrpcCalls } from '../../../apps/cli/operator/grpc-calls.js';
import { errorStatus } from '../../../apps/grpc/error-status.js';
import { Access, ListAccountsResponseSchema } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { serviceDefinition } from '../../../apps/grpc/server.js';
import { ServiceError } from '../../../core/errors.js';
import { bound, GrpcService } from './grpc-service.js';

describe('a server that says nothing', () => {
  it('makes the command wait as long as the call may take', async () => {
    const silent = createServer(() => undefined);
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const calls = new GrpcCalls({ address, host: '127.0.0.1' });
    const failed: unknown = await calls.call(Access.method.listAccounts, {}, 50).catch((error: unknown) => error);
    expect(failed).to.have.property('message', `${address} cannot be reached: it did not answer in time.`);
    const unmade: unknown = await calls
      .call(Access.method.createAccount, { displayName: 'x' }, 50)
      .catch((error: unknown) => error);
    expect(unmade).to.have.property(
      'message',
      `${address} cannot be reached: it did not answer in time. Nothing was done.`,
    );
    calls.close();
    silent.close();
  });

  it('leaves the outcome of an accepted call unknown', async () => {
    const server = new Server();
    server.addService(serviceDefinition(Access), {
      createAccount: () => undefined,
      listAccounts(_: unknown, send: sendUnaryData<object>) {
        send(null, create(ListAccountsResponseSchema));
      },
    });
    const address = `127.0.0.1:${await bound(server)}`;
    const calls = new GrpcCalls({ address, host: '127.0.0.1' });
    // Connects, so that the next call is sent at once.
    await calls.call(Access.method.listAccounts, {});
    const failed: unknown = await calls
      .call(Access.method.createAccount, { displayName: 'x' }, 500)
      .catch((error: unknown) => error);
    expect(failed).to.have.property('message', `${address} did not answer in time. Whether it was done is not known.`);
    calls.close();
    server.forceShutdown();
  });

  it('does not keep the process alive by a connection that never begins TLS', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined));
    });
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    const { port } = mute.address() as AddressInfo;
    // Ends long before the command would, and writes more than a pipe holds at once.
    const program = `
      import { withOperator } from '${new URL('../../../apps/cli/operator/operator-command.js', import.meta.url).href}';
      import { processIo } from '${new URL('../../../apps/cli/process-io.js', import.meta.url).href}';
      import { setTimeout as sleep } from 'node:timers/promises';
      process.exitCode = 1;
      await withOperator(processIo(), { grpc: 'https://127.0.0.1:${port}' }, async (operator) => {
        operator.listAccounts({ limit: 1 }).catch(() => undefined);
        await sleep(100);
      });
      process.stdout.write('x'.repeat(1_000_000));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.length;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, printed, connections: sockets.length }).to.deep.equal({
      code: 1,
      printed: 1_000_000,
      connections: 1,
    });
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
});

describe('an overloaded server', () => {
  let grpc: GrpcService;
  before(async () => {
    grpc = await GrpcService.open();
  });
  after(() => grpc.close());

  it('is called again at the time it names, even for operations that must not be done twice: a refused call had no effect', async () => {
    let asked = 0;
    const server = new Server();
    server.addService(serviceDefinition(Access), {
      createAccount(_: unknown, send: sendUnaryData<object>) {
        asked += 1;
        if (asked < 3)
          send(
            errorStatus(new ServiceError('RATE_LIMITED', undefined, { retryAfterMs: 1 }), {
              requestId: 'r',
              bodyField: '',
            }),
          );
        else send(errorStatus(new ServiceError('CONFLICT', 'That is there.'), { requestId: 'r', bodyField: '' }));
      },
    });
    const address = `127.0.0.1:${await bound(server)}`;
    const calls = new GrpcCalls({ address, host: '127.0.0.1' });
    const failed: unknown = await calls
      .call(Access.method.createAccount, { displayName: 'x' })
      .catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(ServiceError).and.to.include({ code: 'CONFLICT', message: 'That is there.' });
    expect(asked).to.equal(3);
    calls.close();
    server.forceShutdown();
  });

  it('makes the command wait as long as it says, with a notice; a wait of more than a minute ends the command', async () => {
    let asked = 0;
    const server = new Server();
    server.addService(serviceDefinition(Access), {
      listAccounts(_: unknown, send: sendUnaryData<object>) {
        asked += 1;
        send(
          errorStatus(new ServiceError('RATE_LIMITED', 'Too much.', { retryAfterMs: asked === 1 ? 2_001 : 60_001 }), {
            requestId: 'r',
            bodyField: '',
          }),
        );
      },
    });
    const ran = await grpc.run(['accounts', 'list', '--grpc', `127.0.0.1:${await bound(server)}`]);
    expect(ran).to.deep.equal({
      code: 3,
      stdout: '',
      stderr:
        'darkroom: The server asks to wait (RATE_LIMITED); continuing in 3 seconds, Ctrl-C exits.\ndarkroom: Too much. (RATE_LIMITED, request r)\n',
    });
    expect(asked).to.equal(2);
    server.forceShutdown();
  });
});
