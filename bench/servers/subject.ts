import { restLimits } from '../../apps/http/http-fronts.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GrpcServer } from '../../apps/grpc/server.js';
import { createLogger } from '../../apps/logging/logging.js';
import { Metrics, observedPorts } from '../../apps/metrics/metrics.js';
import { allocateAmongNew } from '../../apps/service/new-objects.js';
import { openDarkroom } from '../../test/harness/darkroom.js';
import { createHttpFronts } from '../../test/harness/http-fronts.js';
import { configuredUrl } from '../../apps/wiring/open-program.js';
import { Worker } from '../../apps/worker/worker.js';
import { Authenticator } from '../../core/access/authenticate.js';
import type { Context } from '../../core/context.js';
import type { Provider } from '../../core/ports/provider.js';
import { collectGarbage } from '../../test/fixtures/resident-memory.js';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import { type AccountWriteCounts, AccountWrites } from './account-writes.js';
import { openBenchGrpc } from './grpc-front.js';
import { createCredential, type Credential, openBenchProgram } from './program.js';
import { webhookCommands } from './webhooks.js';

allocateAmongNew();

/**
 * The program under measurement, in a process of its own, over the data folder named on the command line; `measured`
 * after that has it count what it does, as with a port for metrics, and `polling` lets the database tell it nothing.
 */
const { program, config, databaseChecked } = await openBenchProgram(process.argv[2] ?? '');

const AT_ONCE = 32;

/** When each generation was handed to its provider. */
const submittedAtMicros = new Map<string, number>();
const modes = process.argv.slice(3);
const metrics = modes.includes('measured') ? new Metrics() : undefined;
metrics?.process.start();
const { settings } = program.context;
const writes = new AccountWrites(program.context.accounts, program.context.acceptances);
const ports = { ...program.context, accounts: writes.accounts, acceptances: writes.acceptances };
const log = metrics ? metrics.warnings.counted(program.context.log) : program.context.log;
const counting = openDarkroom({
  ports: metrics ? observedPorts(ports, metrics) : ports,
  settings,
  log,
  boot: program.context.boot,
  generationChanges: modes.includes('polling') ? undefined : program.generationChanges,
});
const context: Context = {
  ...counting,
  providers: { ...counting.providers, find: (name) => recorded(counting.providers.find(name)) },
};

const rest = createHttpFronts({
  context,
  authenticator: new Authenticator(context),
  logger: createLogger(config.log),
  limits: restLimits(config.rest),
  ...(program.signedObjects ? { signedObjects: program.signedObjects } : {}),
  publicUrl: () => configuredUrl(config),
  readiness: () => Promise.resolve(true),
  ...(metrics ? { observer: metrics.http } : {}),
});
let grpc: GrpcServer | undefined;
let worker: Worker | undefined;

function isWorking(): boolean {
  return worker !== undefined && worker.counts.running + worker.counts.waiting > 0;
}

function recorded(provider: Provider | undefined): Provider | undefined {
  if (provider === undefined) return undefined;
  return {
    capabilities: (...of) => provider.capabilities(...of),
    submit: (submission, call) => {
      submittedAtMicros.set(submission.generationId, machineMicros());
      return provider.submit(submission, call);
    },
    poll: (...of) => provider.poll(...of),
    output: (...of) => provider.output(...of),
    cancel: (...of) => provider.cancel(...of),
    recover: (...of) => provider.recover(...of),
  };
}

const commands = {
  listen: async () => (await rest.listen('127.0.0.1', 0)).port,
  /** The same process over gRPC too. */
  async listenGrpc(): Promise<number> {
    grpc = openBenchGrpc(config, { context, observer: metrics?.grpc });
    return grpc.listen('127.0.0.1', 0);
  },
  createCredential: () => createCredential(program),
  /** Creates this number of accounts with one key each. */
  async createCredentials({ count }: { readonly count: number }): Promise<Credential[]> {
    const credentials: Credential[] = [];
    while (credentials.length < count) {
      const some = Math.min(AT_ONCE, count - credentials.length);
      credentials.push(...(await Promise.all(Array.from({ length: some }, () => createCredential(program)))));
    }
    return credentials;
  },

  /** Writes of accounts since the process began. */
  accountWrites: (): AccountWriteCounts => ({ ...writes.counts }),

  /** From now on, created generations are also run in this process. */
  async startWorker(): Promise<void> {
    worker = new Worker(context, { ...config.worker, workerId: `bench-${process.pid}` });
    await worker.start();
  },

  /**
   * Waits for the end of the check beside the program; returns its time, in milliseconds from the start of the
   * process.
   */
  databaseChecked: () => databaseChecked,

  /** Hands over what was recorded of submissions, and forgets it. */
  takeSubmissions(): (readonly [generationId: string, atMicros: number])[] {
    const taken = [...submittedAtMicros];
    submittedAtMicros.clear();
    return taken;
  },

  /** The same of the ends of their holds. */
  takeSettled: () => writes.takeSettled(),

  /** Waits until every generation has ended and is settled; returns that time. */
  async drained(): Promise<number> {
    for (;;) {
      while (isWorking()) await sleep(2);
      const endedAtMicros = machineMicros();
      const open = await context.accounts.holdsBefore(context.clock.now() + 1, { limit: 1 });
      if (open.items.length === 0) return endedAtMicros;
      await sleep(20);
    }
  },

  ...webhookCommands(context),

  usage: usageOfThisProcess,
  collectGarbage,
};

export type SubjectCommands = typeof commands;

answerCommands(commands, async () => {
  await Promise.all([rest.close(100), grpc?.close(100), worker?.stop()]);
  await program.close();
});
