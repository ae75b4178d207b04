// Goal: a developer manages webhooks by the command line, and receives on their own machine what a webhook would be sent, through
// failures of the receiver and cuts of the stream.
// Method: command lines in this process against a service beside them; receivers here check what they get with the library.
import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { verifyWebhook } from '../../../clients/typescript/src/index.js';
import { SCOPES } from '../../../core/access/credential.js';
import type { CliRun } from '../../harness/cli-run.js';
import { CliService } from '../../harness/cli-service.js';
import { WebhookReceiver } from '../../harness/webhook-receiver.js';

interface Line {
  readonly message_id: string;
  readonly type: string;
  readonly generation_id: string;
  readonly attempt: number;
  readonly state: string;
  readonly status?: number;
  readonly error?: string;
}

interface Message {
  readonly data: { readonly outputs: { url: string }[] };
}

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const WITH_SECRET = { DARKROOM_WEBHOOK_SECRET: SECRET };

describe('darkroom webhooks', () => {
  let service: CliService;
  let receiver: WebhookReceiver;
  let url: string;
  /** The settings of a key that may manage webhooks. */
  let managing: { readonly environment: Readonly<Record<string, string>> };

  before(async () => {
    service = await CliService.start({ DARKROOM_WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1' });
    const { app_id } = (await service.json<{ keys: { app_id: string }[] }>(['keys', 'list', service.accountId]))
      .keys[0]!;
    const scopes = SCOPES.flatMap((scope) => ['--scope', scope]);
    const { secret } = await service.json<{ secret: string }>(['keys', 'create', app_id, '--name', 'hooks', ...scopes]);
    managing = { environment: { DARKROOM_API_KEY: secret } };
  });
  after(() => service.stop());
  beforeEach(async () => {
    receiver = new WebhookReceiver();
    url = await receiver.open();
  });
  afterEach(() => receiver.close());

  const make = async (): Promise<string> =>
    (await service.json<{ generation_id: string }>(['generate', 'x', '--no-wait'])).generation_id;

  async function listening(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = WITH_SECRET,
  ): Promise<CliRun> {
    const run = service.start(['webhooks', 'listen', ...args], { environment });
    await run.until('stderr', 'Listening for');
    return run;
  }
  const linesOf = (run: CliRun): Line[] =>
    run.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);

  async function ended(run: CliRun): Promise<Awaited<CliRun['ended']>> {
    run.signal('SIGINT');
    return run.ended;
  }

  it('list shows the beginning and the end of the newest secret of each', async () => {
    interface Made {
      readonly webhook_id: string;
      readonly secret: string;
    }
    const made = await service.json<Made>(['webhooks', 'create', `${url}/hints`], managing);
    const shown = async () => (await service.run(['webhooks', 'list'], managing)).stdout;
    const hintOf = ({ secret }: Pick<Made, 'secret'>) => `whsec_${secret.slice(6, 9)}…${secret.slice(-4)}`;
    expect(await shown())
      .to.include(hintOf(made))
      .and.not.include(made.secret);
    const rotated = await service.json<Made>(['webhooks', 'rotate', made.webhook_id], managing);
    expect(await shown())
      .to.include(hintOf(rotated))
      .and.not.include(hintOf(made));
    await service.run(['webhooks', 'delete', made.webhook_id], managing);
  });

  it('test sends a signed example, and shows the answer', async () => {
    const made = await service.json<{ webhook_id: string; secret: string }>(['webhooks', 'create', url], managing);
    const { stdout } = await service.run(['webhooks', 'test', made.webhook_id], managing);
    expect(stdout).to.match(/state: +delivered\nanswer: +204/);
    const { headers, body } = await receiver.next(1);
    const told = (await verifyWebhook(body, headers, made.secret)) as { data: object };
    expect(told).to.include({ type: 'generation.test', test: true });
    expect(told.data).to.include({ status: 'succeeded', modality: 'image' });
    await service.run(['webhooks', 'delete', made.webhook_id], managing);
  });

  it('listen forwards what a webhook is sent, signed with the secret that it shows', async () => {
    const run = await listening(['--forward-to', `${url.replace('http://127.0.0.1', 'localhost')}/hook`], {});
    const [, secret = ''] = /signed with the secret (whsec_\S+)/.exec(run.stderr) ?? [];
    const registered = new WebhookReceiver();
    const hook = await service.json<{ webhook_id: string; secret: string }>(
      ['webhooks', 'create', await registered.open()],
      managing,
    );
    const id = await make();
    const [local, real] = [await receiver.next(1), await registered.next(1)];
    expect(local.path).to.equal('/hook');
    const told = (await verifyWebhook(local.body, local.headers, secret)) as Message;
    const sent = (await verifyWebhook(real.body, real.headers, hook.secret)) as Message;
    expect(told.data).to.include({ generation_id: id, status: 'succeeded' });
    // Addresses are signed anew each time; everything else is the same, in the same order.
    for (const { data } of [told, sent]) for (const output of data.outputs) output.url = '';
    expect(JSON.stringify(told)).to.equal(JSON.stringify(sent));
    expect(Object.keys(local.headers).filter((name) => name.startsWith('webhook-'))).to.have.length(3);
    for (const name of ['content-type', 'user-agent']) expect(local.headers[name], name).to.equal(real.headers[name]);
    registered.close();
    await service.run(['webhooks', 'delete', hook.webhook_id], managing);
    await run.until('stdout', `${id}  204`);
    expect(await ended(run)).to.deep.include({ code: 0 });
    expect(run.stderr).to.match(/Ended: 1 message delivered, 0 given up\.\n$/);
    expect(run.stdout).not.to.include('whsec_');
  });

  it('listen sends again what is not taken, under the same id, and gives up on what is gone', async () => {
    receiver.statuses = [500, 307, 204, 410];
    const run = await listening(['--forward-to', url, '--json']);
    const id = await make();
    const seen = [await receiver.next(1), await receiver.next(2), await receiver.next(3)];
    await make();
    await run.until('stdout', '"exhausted"');
    expect(new Set(seen.map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
    for (const { body, headers } of seen) await verifyWebhook(body, headers, SECRET);
    const [first, second, third, gone] = linesOf(run);
    expect([first, second, third].map((line) => [line?.generation_id, line?.status, line?.state])).to.deep.equal([
      [id, 500, 'retrying'],
      [id, 307, 'retrying'],
      [id, 204, 'delivered'],
    ]);
    expect(gone).to.include({ status: 410, state: 'exhausted', attempt: 1 });
    expect(await ended(run)).to.deep.include({ code: 0 });
    expect(receiver.received).to.have.length(4);
  });

  it('listen says that nothing listens, and ends at once although it would try again', async () => {
    receiver.close();
    const run = await listening(['--forward-to', new URL(url).port]);
    await make();
    await run.until('stdout', 'nothing listens there');
    expect(run.stderr).to.include(`, to post to http://localhost:${new URL(url).port}/.\n`);
    expect(run.stdout).to.match(/again in 1 s\n/);
    expect(await ended(run)).to.deep.include({ code: 0 });
  });

  it('listen says once that its stream was cut, however often it tries, and again when it is cut again', async () => {
    const link = await CutLink.to(service.url);
    const run = await listening(['--url', link.url]);
    for (let cuts = 1; cuts <= 2; cuts += 1) {
      link.cut(2);
      await run.until('stdout', await make());
      expect(run.stderr.match(/trying again/g), `${cuts}`).to.have.lengthOf(cuts);
      expect(run.stderr.match(/Listening for/g), `${cuts}`).to.have.lengthOf(cuts + 1);
    }
    await ended(run);
    link.close();
  });

  it('listen continues where its stream was cut, with the same ids', async () => {
    const link = await CutLink.to(service.url);
    const run = await listening(['--forward-to', url, '--json', '--url', link.url]);
    const first = await make();
    await receiver.next(1);
    link.cut();
    const second = await make();
    await run.until('stdout', second);
    const again = await listening(['--forward-to', url, '--json', '--last-event-id', '0_']);
    // Events of different generations come in any order.
    for (const id of [first, second]) await again.until('stdout', id);
    const byId = (lines: Line[]) => new Map(lines.map((line) => [line.generation_id, line.message_id]));
    const [before, after] = [byId(linesOf(run)), byId(linesOf(again))];
    for (const id of [first, second]) expect(after.get(id)).to.equal(before.get(id)).and.not.equal(undefined);
    expect(new Set(linesOf(run).map(({ message_id }) => message_id)).size).to.equal(linesOf(run).length);
    expect(run.stderr).to.include('trying again');
    await ended(run);
    await ended(again);
    link.close();
  });

  it('listen prints the wanted events alone, starts included', async () => {
    const run = await listening(['--event', 'generation.running', '--event', 'generation.succeeded', '--json']);
    const other = await listening(['--event', 'generation.failed', '--json']);
    const id = await make();
    await run.until('stdout', 'generation.succeeded');
    const types = linesOf(run).map(({ type, generation_id }) => [type, generation_id]);
    expect(types.at(-1)).to.deep.equal(['generation.succeeded', id]);
    await ended(run);
    expect((await ended(other)).stdout).to.equal('');
  });

  it('listen is refused without the scope, and its options are checked before', async () => {
    const { app_id } = (await service.json<{ keys: { app_id: string }[] }>(['keys', 'list', service.accountId]))
      .keys[0]!;
    const scope = ['--name', 'poor', '--scope', 'credits:read'];
    const { secret } = await service.json<{ secret: string }>(['keys', 'create', app_id, ...scope]);
    for (const [args, environment, code, stderr] of [
      [[], { DARKROOM_API_KEY: secret }, 3, /DEVELOPER_SCOPE_INSUFFICIENT/],
      [['--forward-to', 'ftp://localhost'], {}, 2, /--forward-to must be a port, an address such as localhost:3000/],
      [['--forward-to', 'notaurl'], {}, 2, /--forward-to must be a port, an address such as localhost:3000/],
      [['--forward-to', 'no address'], {}, 2, /--forward-to must be a port, an address such as localhost:3000/],
      [['--forward-to', 'http://a:b@localhost'], {}, 2, /without a password\.\n$/],
      [['--forward-to', 'a:b@localhost:3000'], {}, 2, /without a password\.\n$/],
      [['--forward-to', '/webhooks'], {}, 2, /--forward-to must be a port, an address/],
      [['--forward-to', '//localhost/webhooks'], {}, 2, /--forward-to must be a port, an address/],
      [['--forward-to', '65536'], {}, 2, /--forward-to must be a port, an address/],
      [['--forward-to', ':65536/hook'], {}, 2, /--forward-to must be a port, an address/],
      [['--forward-to', 'javascript:alert(1)'], {}, 2, /--forward-to must be a port, an address/],
      [['--forward-to', url], { DARKROOM_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' }, 2, /at least 24 bytes/],
      [['--event', 'generation.made'], {}, 2, /It must be one of generation\.running/],
    ] as const) {
      const ran = await service.run(['webhooks', 'listen', ...args], { environment });
      expect(ran, args.join(' ')).to.deep.include({ code });
      expect(ran.stderr).to.match(stderr);
    }
  });

  it('create, list, update, rotate and delete manage the webhooks of the App', async () => {
    const run = (...args: string[]) => service.run(['webhooks', ...args], managing);
    const created = await run('create', `${url}/a`, '--description', 'orders', '--event', 'generation.failed');
    const [, id = ''] = /webhook: +(\S+)/.exec(created.stdout) ?? [];
    expect(created.stdout).to.match(/events: +generation\.failed\n[^]*secret: +whsec_/);
    expect((await run('list')).stdout).to.match(new RegExp(`${id}  enabled  ${url}/a  orders`));
    const updated = await run('update', id, '--address', `${url}/b`, '--disable', '--description', '');
    expect(updated.stdout)
      .to.match(/state: +disabled \(client\)/)
      .and.not.include('orders');
    expect((await run('update', id, '--enable')).stdout).to.match(/state: +enabled/);
    expect((await run('rotate', id)).stdout).to.match(/^secret: +whsec_\S+\nthe one before until: \d{4}-/);
    expect((await run('rotate', 'default')).stdout).to.match(/^secret: +whsec_/);
    expect((await run('delete', id)).stdout).to.equal(`Webhook ${id} is deleted.\n`);
    expect((await run('list')).stdout).to.equal('(none)\n');
    for (const args of [
      ['update', id],
      ['update', id, '--enable', '--disable'],
    ])
      expect(await run(...args)).to.deep.include({ code: 2 });
    expect(await service.run(['webhooks', 'list'])).to.deep.include({ code: 3 });
  });

  it('deliveries and replay show what a webhook received, and send it again', async () => {
    receiver.statuses = [503];
    const { webhook_id: id } = await service.json<{ webhook_id: string }>(['webhooks', 'create', url], managing);
    const generation = await make();
    await receiver.next(1);
    const run = (...args: string[]) => service.run(['webhooks', ...args], managing);
    let listed = await run('deliveries', id, '--state', 'retrying');
    while (!listed.stdout.includes('503')) listed = await run('deliveries', id, '--state', 'retrying');
    expect(listed.stdout).to.match(new RegExp(`generation\\.succeeded +${generation} +retrying +1 +503`));
    const [, delivery = ''] = /^(\S{36})/m.exec(listed.stdout) ?? [];
    expect((await run('replay', id, delivery)).stdout).to.equal(`Delivery ${delivery} is sent again.\n`);
    await receiver.next(2);
    while (!(await run('deliveries', id)).stdout.includes('delivered'));
    const range = ['--since', '2020-01-01', '--state', 'delivered'];
    expect((await run('replay', id, ...range)).stdout).to.equal('1 delivery is sent again.\n');
    await receiver.next(3);
    for (const args of [[], ['--state', 'delivered'], [delivery, '--since', '2020-01-01'], ['--since', 'then']])
      expect(await run('replay', id, ...args), args.join(' ')).to.deep.include({ code: 2 });
  });
});

/** A link to the service whose connections can be cut. */
class CutLink {
  private readonly sockets = new Set<Socket>();
  private refused = 0;

  private constructor(private readonly server: Server) {}

  static async to(serviceUrl: string): Promise<CutLink> {
    const server = createServer();
    const link = new CutLink(server);
    server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      if (link.refused > 0) {
        link.refused -= 1;
        socket.destroy();
        return;
      }
      const service = connect(Number(new URL(serviceUrl).port), '127.0.0.1');
      for (const one of [socket, service]) link.sockets.add(one.on('error', () => undefined));
      socket.pipe(service).pipe(socket);
      socket.on('close', () => service.destroy());
      service.on('close', () => socket.destroy());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The next so many connections are refused. */
  cut(refused = 0): void {
    this.refused = refused;
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.server.close();
    this.cut();
  }
}
