import { create } from '@bufbuild/protobuf';
import { type sendUnaryData, Server } from '@grpc/grpc-js';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { GrpcCalls } from '../../../apps/cli/operator/grpc-calls.js';
import { errorStatus } from '../../../apps/grpc/error-status.js';
import { Access, ListAccountsResponseSchema } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { serviceDefinition } from '../../../apps/grpc/definitions.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import type { Ports } from '../../../core/ports/ports.js';
import { Gate, intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import type { Ran } from '../../harness/cli-run.js';
import { freePort } from '../../servers/free-port.js';
import { bound, GrpcService } from './grpc-service.js';

// Goal: an operator's command with --grpc reports in one sentence what went wrong, with an exit code that says whose
// fault it was; no token leaves the machine unencrypted, and nothing is done twice because of a lost answer.
// Method: command lines run in this process, against a gRPC front whose ports lose answers.

const LIST = ['accounts', 'list'];

/** Accounts whose calls go through `interceptor`. */
function accounts(interceptor: Interceptor): { around(ports: Ports): Ports } {
  return { around: (ports) => ({ ...ports, accounts: intercepted('accounts', ports.accounts, interceptor) }) };
}

/** Loses the answer of a call after the work was done, once for each `lose` with its name. */
class LostAnswers {
  readonly made: string[] = [];
  private readonly toLose: string[] = [];

  lose(name: string): void {
    this.toLose.push(name);
  }

  readonly interceptor: Interceptor = async (call) => {
    const answer = await call.proceed();
    this.made.push(call.name);
    if (!this.toLose.includes(call.name)) return answer;
    this.toLose.splice(this.toLose.indexOf(call.name), 1);
    throw new StoreUnavailable('The answer was lost.');
  };
}

describe("operators' commands with --grpc, when a call fails", () => {
  let grpc: GrpcService;
  before(async () => {
    grpc = await GrpcService.open();
  });
  after(() => grpc.close());

  /** The sentences on stderr for arguments of `accounts list`; HERE is the server's address, and R any request id. */
  function answers(code: number, token: string, sentences: Readonly<Record<string, string>>): void {
    for (const [args, sentence] of Object.entries(sentences))
      it(`answers accounts list ${args} of ${token || 'nobody'} with ${code}`, async () => {
        writeFileSync(join(grpc.folder, 'words.pem'), 'no certificate');
        const ran = await grpc.run([...LIST, ...args.replace('HERE', grpc.address).split(' ')], token);
        expect({ ...ran, stderr: ran.stderr.replace(/request [\w-]+/, 'request R') }).to.deep.equal({
          code,
          stdout: '',
          stderr: `darkroom: ${sentence.replace('HERE', grpc.address)}\n`,
        });
      });
  }
  answers(3, '', {
    '--grpc HERE':
      'The server requires authentication; set DARKROOM_SERVICE_TOKEN, or give --grpc-cert and --grpc-key. (DEVELOPER_TOKEN_REQUIRED, request R)',
  });
  answers(3, 'nobody', {
    '--grpc HERE': 'The server does not know the token in DARKROOM_SERVICE_TOKEN. (DEVELOPER_TOKEN_INVALID, request R)',
  });
  answers(3, 'revoked', { '--grpc HERE': 'The credential has been revoked. (DEVELOPER_TOKEN_REVOKED, request R)' });
  answers(3, 'expired', { '--grpc HERE': 'The credential has expired. (DEVELOPER_TOKEN_EXPIRED, request R)' });
  answers(2, 'two words', { '--grpc HERE': 'DARKROOM_SERVICE_TOKEN must be one word of visible ASCII characters.' });
  answers(2, 'operator', {
    '--grpc http://darkroom.example:50051':
      'Tokens and secrets would travel to darkroom.example in plain text; leave http:// away, and TLS is used.',
    '--grpc http://[2001:db8::1]:50051':
      'Tokens and secrets would travel to 2001:db8::1 in plain text; leave http:// away, and TLS is used.',
    '--grpc HERE --grpc-cert words.pem': '--grpc-cert and --grpc-key belong together: give both or neither.',
    '--grpc HERE --grpc-ca none.pem': '--grpc-ca none.pem cannot be read.',
    '--grpc HERE --grpc-cert words.pem --grpc-key words.pem':
      '--grpc-cert words.pem is not a certificate, or a chain of whole ones, in PEM form.',
    '--grpc HERE --grpc-ca words.pem':
      '--grpc-ca words.pem is not a certificate, or a list of whole ones, in PEM form.',
    '--grpc HERE --grpc-key words.pem': '--grpc-cert and --grpc-key belong together: give both or neither.',
    '--grpc http://HERE --grpc-ca words.pem': '--grpc-ca, --grpc-cert and --grpc-key are for TLS; leave http:// away.',
    '--grpc-ca words.pem': '--grpc-ca, --grpc-cert and --grpc-key need --grpc, the address of the server.',
    '--grpc HERE --config darkroom.yaml':
      "option '--grpc <host:port>' cannot be used with option '-c, --config <file>'",
  });
  for (const address of [
    'there',
    ':50051',
    '127.0.0.1',
    '127.0.0.1:port',
    '127.0.0.1:70000',
    'grpc://127.0.0.1:50051',
    'http://me@127.0.0.1:50051',
    '127.0.0.1:50051/x',
  ])
    answers(2, 'operator', {
      [`--grpc ${address}`]: `The server's gRPC address must be host:port, such as 127.0.0.1:50051, not ${address}.`,
    });
  answers(2, '', {
    '--grpc http://127.0.0.1.example:50051':
      'Tokens and secrets would travel to 127.0.0.1.example in plain text; leave http:// away, and TLS is used.',
  });
  answers(1, 'operator', {
    '--grpc no-such-host.invalid:50051': 'no-such-host.invalid:50051 cannot be reached: its name cannot be resolved.',
    '--grpc https://HERE': 'HERE cannot be reached: it does not speak TLS.',
  });

  it('does what the caller may do, and names the missing scope otherwise', async () => {
    expect((await grpc.operate(LIST, 'reader')).code).to.equal(0);
    const refused = await grpc.operate(['accounts', 'create', 'x', '--json'], 'reader');
    expect(refused.code).to.equal(3);
    expect(refused.stderr).to.match(
      /^darkroom: The service reader does not have the scope access:write\. \(DEVELOPER_SCOPE_INSUFFICIENT, request \S+\)\n$/,
    );
    expect((JSON.parse(refused.stdout) as { error: object }).error)
      .to.include({ code: 'DEVELOPER_SCOPE_INSUFFICIENT' })
      .and.to.have.property('request_id');
  });

  it('is not an option of commands that only make sense on stores', async () => {
    for (const command of [
      ['serve'],
      ['migrate'],
      ['init'],
      ['catalog', 'check'],
      ['providers', 'check'],
      ['backup', 'x'],
      ['restore', 'x'],
    ]) {
      expect(await grpc.operate(command), command.join(' ')).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: "darkroom: unknown option '--grpc'; this command works on this machine only\n",
      });
    }
  });

  it('names a server that cannot be reached, after some tries', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    expect(await grpc.run([...LIST, '--grpc', address])).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `darkroom: ${address} cannot be reached: nothing listens there.\n`,
    });
  });

  it('reports that nothing was done when no attempt has reached a server', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const stderr = `darkroom: ${address} cannot be reached: nothing listens there. Nothing was done.\n`;
    const commands = [
      ['grants', 'create', grpc.owner.accountId, '5'],
      ['accounts', 'create', 'x'],
    ];
    const ran = await Promise.all(commands.map((command) => grpc.run([...command, '--grpc', address])));
    expect(ran).to.deep.equal(commands.map(() => ({ code: 1, stdout: '', stderr })));
  });

  it('shows the cause with DARKROOM_DEBUG=1', async () => {
    const { stderr } = await grpc.run([...LIST, '--grpc', 'no-such-host.invalid:50051'], 'operator', {
      DARKROOM_DEBUG: '1',
    });
    expect(stderr)
      .to.match(/\[cause\]: .*UNAVAILABLE.*Name resolution failed/)
      .and.not.to.include('Bearer');
  });

  it('says so when a server other than Darkroom answers', async () => {
    const http = createServer((_, response) => {
      response.end('<h1>hello</h1>');
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
    const webAddress = `127.0.0.1:${(http.address() as AddressInfo).port}`;
    expect((await grpc.run([...LIST, '--grpc', webAddress])).stderr).to.equal(
      `darkroom: ${webAddress} cannot be reached: it does not speak gRPC.\n`,
    );
    http.close();
    const other = new Server();
    const port = await bound(other);
    const stranger = await grpc.run([...LIST, '--grpc', `127.0.0.1:${port}`]);
    expect(stranger).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `darkroom: 127.0.0.1:${port} answered with UNIMPLEMENTED and not as a Darkroom service of this version does; check the address.\n`,
    });
    other.forceShutdown();
  });
});

describe("operators' commands with --grpc, when an answer is lost", () => {
  const lost = new LostAnswers();
  let grpc: GrpcService;
  before(async () => {
    grpc = await GrpcService.open(accounts(lost.interceptor));
  });
  after(() => grpc.close());

  const kinds = async (accountId: string) =>
    (await grpc.harness.context.accounts.entries(accountId, { limit: 100 })).items.map(
      ({ kind, credits }) => `${kind} ${credits}`,
    );

  it('retry reads', async () => {
    lost.lose('accounts.list');
    const { code, stderr } = await grpc.operate(LIST);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(lost.made.filter((name) => name === 'accounts.list')).to.have.length(2);
  });

  it('grant once, with the usual answer', async () => {
    const { accountId } = grpc.owner;
    lost.lose('accounts.read');
    const { code, stdout, stderr } = await grpc.operate(['grants', 'create', accountId, '5']);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^owner has 105 credits available \(operation \S+\)\.\n$/);
    expect(await kinds(accountId)).to.deep.equal(['grant 100', 'grant 5']);
  });

  it('do not retry the creation of an account, and say that it may have been created', async () => {
    lost.lose('accounts.create');
    const { code, stdout, stderr } = await grpc.operate(['accounts', 'create', 'twice']);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.match(
      /^darkroom: The service cannot answer right now\. \(SERVICE_UNAVAILABLE, request \S+\)\. Whether it was done is not known\.\n$/,
    );
    const { items } = await grpc.harness.context.accounts.list({ limit: 100 });
    expect(items.map(({ name }) => name)).to.deep.equal(['owner', 'twice']);
  });
});

describe('a server that stops while an operator waits for a grant', () => {
  let grpc: GrpcService;
  let gate: Gate | undefined;
  let reach: () => void = () => undefined;
  before(async () => {
    grpc = await GrpcService.open(
      accounts(async (call) => {
        const answer = await call.proceed();
        if (call.name === 'accounts.apply' && gate !== undefined) {
          reach();
          await gate.wait();
        }
        return answer;
      }),
    );
  });
  after(() => grpc.close());

  /** The grant is in the ledger, but its server is gone before it has answered. */
  async function cutShort(...args: readonly string[]): Promise<{ readonly ended: Promise<Ran> }> {
    const isReached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const held = new Gate();
    gate = held;
    const ended = grpc.operate(['grants', 'create', grpc.owner.accountId, '5', ...args]);
    await isReached;
    gate = undefined;
    await grpc.stop();
    held.open();
    return { ended };
  }

  const grants = async () =>
    (await grpc.harness.context.accounts.entries(grpc.owner.accountId, { limit: 100 })).items
      .slice(1)
      .map(({ operationId }) => operationId);

  it('leaves an operation id that finds out the outcome, when it stays unavailable', async () => {
    const { code, stdout, stderr } = await (await cutShort('--json')).ended;
    const { error } = JSON.parse(stdout) as { error: { operation_id: string } };
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr: `darkroom: ${grpc.address} cannot be reached: nothing listens there. Whether it was made is not known; the same command with --operation-id ${error.operation_id} finds out and does not make it twice.\n`,
    });
    expect(await grants()).to.deep.equal([error.operation_id]);
    await grpc.start();
    const again = await grpc.operate([
      'grants',
      'create',
      grpc.owner.accountId,
      '5',
      '--operation-id',
      error.operation_id,
    ]);
    expect(again.stdout).to.match(
      /^The operation \S+ was made already at \S+; nothing changed\. owner has 105 credits available\.\n$/,
    );
  });

  it('grants once when it is back in time', async () => {
    const { ended } = await cutShort();
    await grpc.start();
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.match(/^owner has 110 credits available /);
    expect(await grants()).to.have.length(2);
  });
});

// Goal: an operator's command with --grpc waits for a server as long as the server asks, says so, and never waits
// forever.
// Method: a listener that sends nothing, and a server that says when to retry; commands in this process, and one in a
// separate process, which open connections must not keep alive.

describe('a server that says nothing', () => {
  it('makes the command wait as long as the call may take', async () => {
    const silent = createTcpServer(() => undefined);
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const calls = new GrpcCalls({ address, host: '127.0.0.1' });
    const failed: unknown = await calls
      .call(Access.method.listAccounts, {}, { timeoutMs: 50 })
      .catch((error: unknown) => error);
    expect(failed).to.have.property('message', `${address} cannot be reached: it did not answer in time.`);
    const unmade: unknown = await calls
      .call(Access.method.createAccount, { displayName: 'x' }, { timeoutMs: 50 })
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
      .call(Access.method.createAccount, { displayName: 'x' }, { timeoutMs: 500 })
      .catch((error: unknown) => error);
    expect(failed).to.have.property('message', `${address} did not answer in time. Whether it was done is not known.`);
    calls.close();
    server.forceShutdown();
  });

  it('does not keep the process alive by a connection that never begins TLS', async () => {
    const sockets: Socket[] = [];
    const mute = createTcpServer((socket) => {
      sockets.push(socket.on('error', () => undefined));
    });
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    const { port } = mute.address() as AddressInfo;
    // Ends long before the command would, and writes more than a pipe holds at once.
    const program = `
      import { withOperator } from '${new URL('../../../apps/cli/operator/with-operator.js', import.meta.url).href}';
      import { processIo } from '${new URL('../../../apps/cli/process-io.js', import.meta.url).href}';
      import { setTimeout as sleep } from 'node:timers/promises';
      process.exitCode = 1;
      await withOperator(processIo(), { grpc: 'https://127.0.0.1:${port}' }, async (operator) => {
        operator.access.listAccounts({ pageSize: 1 }).catch(() => undefined);
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
