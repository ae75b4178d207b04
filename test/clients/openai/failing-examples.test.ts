/**
 * Goal: the examples of docs/openai.md print one sentence and end with another exit code than 0 when something fails, and a
 * restart of the service in the middle costs nothing twice.
 * Method: the blocks of the page, as processes, against started programs whose model fails or is slow. A client that is
 * not installed is skipped with a message.
 */
import { expect } from 'chai';
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../docs/pages.js';
import { freePort } from '../../servers/free-port.js';
import type { Tenant } from '../../service/live-service.js';
import { ClientAbsent } from '../foreign-clients.js';
import { behaving, type EndedSample, expectSentence, untilRunning } from '../samples.js';
import { ClientService } from './client-service.js';
import { DocumentedExample } from './documented-example.js';
import { LITELLM, OPENAI_1, OPENAI_NEWEST, OPENAI_PACKAGES } from './openai-tools.js';

interface Client {
  readonly name: string;
  readonly heading: string;
  readonly language: string;
  /** The command that reads the example from its standard input. Throws `ClientAbsent` where it is not installed. */
  command(example: DocumentedExample): Promise<readonly [command: string, ...args: string[]]>;
}

const NODE = [process.execPath, '--input-type=module'] as const;
const python = (client: typeof LITELLM, heading: string): Client => ({
  name: client.language,
  heading,
  language: 'python',
  command: async () => [await client.interpreter(), '-'],
});

/** Lets the example in the folder import a package by its own name. */
function link(folder: string, name: string, target: string): void {
  const path = join(folder, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

const CLIENTS: readonly Client[] = [
  { name: 'curl', heading: 'curl', language: 'sh', command: async () => ['bash'] },
  python(OPENAI_1, 'openai for Python'),
  python(OPENAI_NEWEST, 'openai for Python'),
  python(LITELLM, 'LiteLLM'),
  {
    name: 'openai for Node',
    heading: 'openai for TypeScript',
    language: 'ts',
    command: async ({ folder }) => {
      link(folder, 'openai', join(ROOT, 'node_modules/openai'));
      return NODE;
    },
  },
  {
    name: 'AI SDK',
    heading: 'AI SDK',
    language: 'ts',
    command: async ({ folder }) => {
      for (const name of ['ai', '@ai-sdk/openai-compatible'])
        link(folder, name, await OPENAI_PACKAGES.folder(`${name}-7`));
      return NODE;
    },
  },
];

/** LiteLLM reads a list of prices from its own site otherwise. */
const OFFLINE = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False' };

describe('the examples of docs/openai.md', () => {
  let plain: ClientService;
  let failing: ClientService;
  let slow: ClientService;
  before(async () => {
    plain = await ClientService.open();
    failing = await ClientService.open({ catalog: behaving({ behaviour: 'fail' }) });
    slow = await ClientService.open({ catalog: behaving({ behaviour: 'succeed', delay_ms: 15_000 }) });
  });
  after(async () => {
    for (const service of [plain, failing, slow]) await service?.close();
  });

  async function run(client: Client, service: ClientService, secret: string, origin?: string): Promise<EndedSample> {
    const example = new DocumentedExample(service, client.heading, client.language, origin ? { origin } : {});
    const [command, ...args] = await client.command(example);
    return example.ended(command, args, secret, OFFLINE);
  }

  /** Runs all clients at once: they wait for most of the time. An absent one is skipped with a message. */
  async function withAll(check: (client: Client) => Promise<void>): Promise<void> {
    const faults = await Promise.all(
      CLIENTS.map((client) =>
        check(client).then(
          () => undefined,
          (error: Error) => {
            if (!(error instanceof ClientAbsent)) return `${client.name}: ${error.message}`;
            console.log(`  Skipped: ${error.message}`);
            return undefined;
          },
        ),
      ),
    );
    expect(faults.filter((fault) => fault !== undefined)).to.deep.equal([]);
  }

  it('print one sentence for a wrong key', async () => {
    await withAll(async (client) => expectSentence(await run(client, plain, 'svc_live_wrong'), /not valid/));
  });

  it('print one sentence where credits are missing, and cost nothing', async () => {
    const tenant = await plain.tenant(3);
    await withAll(async (client) => expectSentence(await run(client, plain, tenant.secret), /4 credits/));
    await plain.expectPaid(tenant, 0);
  });

  it('print one sentence for a failed generation, which costs nothing', async () => {
    const tenant = await failing.tenant();
    await withAll(async (client) => expectSentence(await run(client, failing, tenant.secret), /asked to fail/));
    await failing.expectPaid(tenant, 0);
  });

  it('print one sentence where nothing listens', async () => {
    const origin = `http://127.0.0.1:${await freePort()}`;
    await withAll(async (client) => expectSentence(await run(client, plain, 'svc_live_any', origin), /onnect/));
  });

  it('buy one picture when the service restarts in the middle, at the latest when they are run again', async () => {
    const started = new Map<Client, { readonly tenant: Tenant; readonly first: Promise<EndedSample> }>();
    await withAll(async (client) => {
      const tenant = await slow.tenant();
      const first = run(client, slow, tenant.secret);
      started.set(client, { tenant, first });
      await Promise.race([first, untilRunning(slow.live, tenant.secret)]);
    });
    await slow.live.server.end('SIGTERM');
    await slow.live.server.start();
    await withAll(async (client) => {
      const { tenant, first } = started.get(client) as { tenant: Tenant; first: Promise<EndedSample> };
      const ended = await first;
      if (ended.code !== 0) {
        expectSentence(ended, /./);
        expect(await run(client, slow, tenant.secret)).to.include({ code: 0 });
      }
      await slow.expectPaid(tenant, 4);
    });
  });
});
